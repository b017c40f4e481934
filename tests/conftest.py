"""Shared fixtures. Reference data lives beside the checkout and is never part of it."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Iterator[None]:
    """Share what is compiled between the processes of a run: workers, and commands that tests start."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAX_COMPILATION_CACHE_DIR", folder)
        environment.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Take up interrupts also where the tests run in the background of a shell, which has them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with reference networks and measurements.

    Tests that need it are skipped where it is absent, unless CTBNLEARN_REQUIRE_DATA=1 makes that a failure.
    """
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CTBNLEARN_DATA", default))
    if not folder.is_dir():
        message = f"reference data not found in {folder}; set CTBNLEARN_DATA to its folder"
        if os.environ.get("CTBNLEARN_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder

"""Running commands inside the process; jax keeps no cache, so that other tests are not touched."""

from __future__ import annotations

import pytest

from ctbnlearn.cli import learning, main, smoothing


@pytest.fixture
def run(capsys):
    """Run a command: (exit code, stdout, stderr)."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    for module in (learning, smoothing):
        monkeypatch.setattr(module, "use_cache", lambda: None)

"""`ctbnlearn report` and `ctbnlearn info`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ctbnlearn import __version__
from ctbnlearn.cli.cache import cache_folder, cache_size, clear_cache
from ctbnlearn.cli.progress import visible
from ctbnlearn.data.messages import first_line
from ctbnlearn.errors import ParameterError

LIBRARIES = ("jax", "numpy", "scipy", "scikit-learn", "pyarrow", "narwhals", "networkx", "safetensors")


def run_report(folder: Path, out: Path | None, quiet: bool) -> int:
    """Write the report of a result."""
    from ctbnlearn.result.archive import REPORT, load_result

    result = load_result(folder)
    path = folder / REPORT if out is None else out
    try:
        result.report(path)
    except ImportError as problem:
        raise ParameterError(
            f"the report cannot be drawn ({first_line(problem)}); install what it needs with pip install "
            "'ctbnlearn[report]'"
        ) from None
    if not quiet:
        print(f"written to {visible(path)}")
    return 0


def run_info(folder: Path | None, clear: bool, as_json: bool) -> int:
    """Versions, device and cache, or a result."""
    from ctbnlearn.cli.learning import edge_lines, print_json

    if folder is not None:
        from ctbnlearn.result.archive import load_result
        from ctbnlearn.result.page import summary

        result = load_result(folder)
        if as_json:
            print_json({"summary": summary(result), **result.manifest})
            return 0
        for key, value in summary(result).items():
            print(f"{key + ':':<18}{visible(value)}")
        for warning in result.manifest.get("warnings", []):
            print(f"note: {visible(warning)}")
        print("\n".join(edge_lines(result, [e for e in result.edges.to_pylist() if e["probability"] > 0.1])))
        return 0
    removed = clear_cache() if clear else None
    files, size = cache_size()
    found: dict[str, Any] = {"ctbnlearn": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    found.update(devices=_devices(), cache=str(cache_folder()), cache_files=files, cache_bytes=size)
    if removed is not None:
        found["cache_bytes_removed"] = removed[1]
    if as_json:
        print_json(found)
        return 0
    found["devices"] = ", ".join(found["devices"])
    for key, value in found.items():
        print(f"{key.replace('_', ' ') + ':':<22}{'not installed' if value is None else visible(value)}")
    return 0


def _devices() -> list[str]:
    import jax

    return [f"{d.platform} ({d.device_kind})" for d in jax.devices()]

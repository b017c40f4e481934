"""Layers: a package imports only from itself and the layers above it; shared top-level modules import from none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ctbnlearn

LAYERS = ("data", "model", "inference", "structure", "execute", "report", "result", "learn", "experiments", "cli")
ENTRY_POINTS = ("__init__", "__main__", "exact", "plot", "variational")  # top-level modules that may import any layer
HOME = Path(ctbnlearn.__file__).parent
MODULES = sorted(HOME.rglob("*.py"), key=str)


def imported(source: str) -> set[str]:
    """Names below the package of everything a module imports, at its top or later: "data.paths", "errors", ..."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the package"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("ctbnlearn.") for name in found if name.startswith("ctbnlearn.")}


def forbidden_imports(module: tuple[str, ...], source: str) -> list[str]:
    """What a module, given by its path without suffix, must not import."""
    layers = {name: name.split(".")[0] for name in imported(source)}
    if len(module) == 1:
        return [] if module[0] in ENTRY_POINTS else [name for name, layer in layers.items() if layer in LAYERS]
    above = LAYERS[: LAYERS.index(module[0]) + 1]
    return [name for name, layer in layers.items() if layer in (*LAYERS, *ENTRY_POINTS[1:]) and layer not in above]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_modules_import_only_from_layers_above(path):
    assert forbidden_imports(path.relative_to(HOME).with_suffix("").parts, path.read_text()) == []


def test_forbidden_imports_are_found():
    below = "def f():\n    from ctbnlearn.learn.em import EM\n"
    assert forbidden_imports(("structure", "score"), below) == ["learn.em.EM"]
    assert forbidden_imports(("arrays",), "import ctbnlearn.data.paths") == ["data.paths"]
    assert forbidden_imports(("learn", "em"), below) == forbidden_imports(("plot",), below) == []
    assert forbidden_imports(("data", "paths"), "from ctbnlearn import exact, errors") == ["exact"]


def test_every_package_is_a_layer():
    packages = {path.name for path in HOME.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert packages <= set(LAYERS)

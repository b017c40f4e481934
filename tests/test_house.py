"""The house: a room imports only from itself and from rooms above it; what all rooms share imports from none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ctbnlearn

ROOMS = ("data", "model", "inference", "structure", "execute", "report", "result", "learn", "experiments", "cli")
DOORS = ("__init__", "__main__", "exact", "plot", "variational")  # modules that open rooms to people
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


def trespasses(place: tuple[str, ...], source: str) -> list[str]:
    """What a module, by its path without suffix, must not import."""
    rooms = {name: name.split(".")[0] for name in imported(source)}
    if len(place) == 1:
        return [] if place[0] in DOORS else [name for name, room in rooms.items() if room in ROOMS]
    above = ROOMS[: ROOMS.index(place[0]) + 1]
    return [name for name, room in rooms.items() if room in (*ROOMS, *DOORS[1:]) and room not in above]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_rooms_import_only_from_above(path):
    assert trespasses(path.relative_to(HOME).with_suffix("").parts, path.read_text()) == []


def test_what_is_forbidden_is_seen():
    below = "def f():\n    from ctbnlearn.learn.em import EM\n"
    assert trespasses(("structure", "score"), below) == ["learn.em.EM"]
    assert trespasses(("arrays",), "import ctbnlearn.data.paths") == ["data.paths"]
    assert trespasses(("learn", "em"), below) == trespasses(("plot",), below) == []
    assert trespasses(("data", "paths"), "from ctbnlearn import exact, errors") == ["exact"]


def test_every_room_has_its_place():
    rooms = {path.name for path in HOME.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms <= set(ROOMS)

"""Grids and tables of one shape for all data of a test, so that little is compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ctbnlearn.inference import engine, grid, posterior
from ctbnlearn.inference.grid import Block


def pad(monkeypatch: pytest.MonkeyPatch, n_cells: int, n_columns: int, n_parents: int, n_parent_states: int) -> None:
    """Pad blocks to so many cells and columns, and the tables of known networks to so many parents and states."""

    def padded(*arguments: Any, **settings: Any) -> list[Block]:
        return [grid._padded(block, n_cells, n_columns) for block in grid.build_blocks(*arguments, **settings)]

    monkeypatch.setattr(engine, "build_blocks", padded)
    monkeypatch.setattr(posterior, "PathEngine", partial(engine.PathEngine, padding=(n_parents, n_parent_states)))

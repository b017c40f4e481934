"""Grids and tables of one shape for all data of a test, so that little is compiled."""

from __future__ import annotations

from typing import Any

import pytest

from ctbnlearn.inference import engine, grid
from ctbnlearn.inference.contract import PathRates
from ctbnlearn.inference.grid import Block
from ctbnlearn.inference.padded_rates import PaddedRates


def pad(monkeypatch: pytest.MonkeyPatch, n_cells: int, n_columns: int, n_parents: int, n_parent_states: int) -> None:
    """Pad blocks to so many cells and columns, and the tables of rates to so many parents and states of these."""

    def blocks(*arguments: Any, **settings: Any) -> list[Block]:
        return [grid._padded(block, n_cells, n_columns) for block in grid.build_blocks(*arguments, **settings)]

    def tables(self: engine.PathEngine, rates: PathRates) -> PaddedRates:
        return PaddedRates(rates, (n_parents, n_parent_states), self.mean_field)

    monkeypatch.setattr(engine, "build_blocks", blocks)
    monkeypatch.setattr(engine.PathEngine, "padded", tables)

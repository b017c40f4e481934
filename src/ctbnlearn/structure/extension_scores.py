"""Scores of a parent set with each of many further members, counted and summed up in one compiled loop."""

from __future__ import annotations

from math import exp, log

import numpy as np

from ctbnlearn.streams import compiled
from ctbnlearn.structure.cell_prior import Floats, add_evidence
from ctbnlearn.structure.event_streams import Codes, Ticks, merged_dwell, tally_moves


@compiled
def score_extensions(
    family: tuple[Ticks, Codes, Codes],
    size: int,
    own: int,
    streams: tuple[Ticks, Codes, Codes],
    more: Codes,
    cards: Codes,
    before: Codes,
    target: Codes,
    prior: tuple[Floats, Floats, Floats, Floats],
    tick: float,
) -> Floats:
    """Scores (len(more),) with the strength of the prior summed out.

    Parameters
    ----------
    family
        Steps and codes of the family's stream, and its codes before every move of the node.
    size, own
        Joint states of the family, and states of the node.
    streams
        `at`, `code` and `first` of `EventStreams`.
    more, cards
        The further members, and numbers of states of all variables.
    before : (n_variables, n_moves)
        States of all variables before every move of the node, those in `more` at least.
    target
        States the node moves to.
    prior
        `shape`, `rate`, `listed` and `log_weight` of a `CellPrior`.
    tick
        Unit of time.
    """
    at, code, at_moves = family
    all_at, all_code, first = streams
    shape, rate, listed, log_weight = prior
    out = np.empty(len(more))
    for g in range(len(more)):
        j, card = more[g], cards[more[g]]
        dwell, moves = np.zeros(size * card, np.int64), np.zeros(size * card * own, np.int64)
        other_at, other_code = all_at[first[j] + j : first[j + 1] + j + 1], all_code[first[j] : first[j + 1]]
        merged_dwell(at, code, other_at, other_code, card, dwell)
        tally_moves(at_moves, before[j], card, target, own, moves)
        given = log_weight.copy()
        add_evidence(dwell.reshape(size, card), moves.reshape(size, card, own), shape, rate, listed, tick, given)
        top, total = given.max(), 0.0
        for value in given:
            total += exp(value - top)
        out[g] = top + log(total)
    return out

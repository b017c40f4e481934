"""Tests whether a node's moves depend on another variable, given some parents (Bregoli, Scutari & Stella 2021).

For a node in state x, while its other parents are in state s, two null hypotheses for every state y of the variable:

    time to transition:    q(x | s, y) = q(x | s)          exit rates, by an F test
    state to state:        theta(x, . | s, y) = theta(x, . | s)   where it jumps to, by a two-sample chi-square test

Both compare the data seen under y with those seen under the other states, two samples that do not overlap (the authors
compare with all data under s, of which y's are a part, so that their tests reject too seldom). Counts n_1, n_2 of
Poisson events in times T_1, T_2 have F = T_1 (n_2 + 1/2) / (T_2 (n_1 + 1/2)) with 2 n_1 + 1 and 2 n_2 + 1 degrees of
freedom (Cox 1953), which also serves where nothing happened.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from ctbnlearn.arrays import FloatArray


def rate_p_values(dwell: FloatArray, counts: FloatArray) -> FloatArray:
    """Two-sided p-values of equal rates under each y and under the others.

    Parameters
    ----------
    dwell, counts : (C, Y, X)
        Time spent, and how often it was left, per state s of the parents, y of the variable and x of the node.

    Returns
    -------
    (C, Y, X)
        NaN where one of the two samples has no time, or nothing happened in either.

    Examples
    --------
    >>> rate_p_values(np.array([[[10.0], [10.0]]]), np.array([[[4.0], [4.0]]])).round(6).tolist()
    [[[1.0], [1.0]]]
    """
    rest_time, rest = dwell.sum(1, keepdims=True) - dwell, counts.sum(1, keepdims=True) - counts
    usable = (dwell > 0) & (rest_time > 1e-12 * dwell) & (counts + rest > 0)
    safe = np.where(usable, rest_time, 1.0)
    ratio = dwell * (rest + 0.5) / (safe * (counts + 0.5))
    law = f_distribution(2 * counts + 1, 2 * rest + 1)
    return np.where(usable, np.minimum(1.0, 2 * np.minimum(law.cdf(ratio), law.sf(ratio))), np.nan)


def jump_p_values(transitions: FloatArray) -> FloatArray:
    """P-values of equal jump probabilities under each y and under the others.

    Parameters
    ----------
    transitions : (C, Y, X, X)
        Jumps from x to x', per state of the parents and of the variable.

    Returns
    -------
    (C, Y, X)
        NaN where one of the two samples is empty, or all jumps lead to one state.
    """
    here, rest = transitions, transitions.sum(1, keepdims=True) - transitions
    n_here, n_rest = here.sum(-1, keepdims=True), rest.sum(-1, keepdims=True)
    both = here + rest
    usable = (n_here > 0) & (n_rest > 0)
    share = both / np.where(usable, n_here + n_rest, 1.0)
    statistic = np.zeros(here.shape)
    for seen, total in ((here, n_here), (rest, n_rest)):
        expected = share * total
        statistic += np.divide((seen - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
    freedom = (both > 0).sum(-1) - 1
    p = chi2.sf(statistic.sum(-1), np.maximum(freedom, 1))
    return np.where(usable[..., 0] & (freedom > 0), p, np.nan)


def independence_p_value(dwell: FloatArray, transitions: FloatArray, corrected: bool = True) -> float:
    """P-value of both hypotheses in all states: the smallest of the single ones, times their number if `corrected`.

    Parameters
    ----------
    dwell : (C, Y, X)
        Time spent.
    transitions : (C, Y, X, X)
        Jumps, zero diagonal.
    corrected
        Whether to multiply by the number of tests (Bonferroni). Otherwise any single test rejects at its own level.

    Returns
    -------
    float
        One where there is nothing to compare.
    """
    p = np.stack([rate_p_values(dwell, transitions.sum(-1)), jump_p_values(transitions)])
    if dwell.shape[1] == 2:  # under y or under the other: the same test twice
        p = p[:, :, :1]
    single = p[~np.isnan(p)]
    if not len(single):
        return 1.0
    return float(min(1.0, single.min() * (len(single) if corrected else 1)))

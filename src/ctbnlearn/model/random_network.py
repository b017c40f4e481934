"""Random networks: the paper's Glauber family, and random rates for any number of states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctbnlearn.arguments import AnySeed, generator, whole
from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.model.ctbn import CTBN


def random_network(
    n_nodes: int,
    max_parents: int = 2,
    *,
    dynamics: str = "glauber",
    coupling: float = 0.6,
    n_states: int | Sequence[int] = 2,
    rate_prior: tuple[float, float] = (2.0, 2.0),
    rng: AnySeed = None,
) -> CTBN:
    """Draw a network with a flat in-degree distribution.

    Each node draws its number of parents uniformly from 0 .. max_parents (at most n_nodes - 1), then the
    parents uniformly without replacement.

    Parameters
    ----------
    n_nodes, max_parents
        Size of the network and largest in-degree.
    dynamics
        "glauber": states -1 and 1, x flips at rate 1/2 + 1/2 tanh(coupling * x * sum(u)), as in Linzner et
        al. 2019. "random": every rate drawn from Gamma(shape, rate) = `rate_prior`.
    coupling
        Strength of the Glauber dynamics.
    n_states
        Number of states for "random", one for all nodes or one each; labels are 0, 1, ...
    rate_prior
        (shape, rate) of the Gamma distribution of "random" rates.
    rng
        AnySeed or `numpy.random.Generator`.

    Examples
    --------
    >>> random_network(5, max_parents=2, rng=0)
    CTBN(5 variables, 2 edges)
    """
    whole(n_nodes, "random_network: n_nodes", 1)
    whole(max_parents, "random_network: max_parents", 0)
    rng = generator(rng)
    limit = min(max_parents, n_nodes - 1)
    parents = []
    for i in range(n_nodes):
        others = np.delete(np.arange(n_nodes), i)
        parents.append(np.sort(rng.choice(others, rng.integers(0, limit + 1), replace=False)))
    names = [f"x{i}" for i in range(n_nodes)]
    if dynamics == "glauber":
        if not np.isfinite(coupling):
            raise ParameterError(f"random_network: coupling must be finite, not {coupling!r}")
        variables = [Variable(name, (-1, 1)) for name in names]
        rates = {name: glauber_rates(len(ps), coupling) for name, ps in zip(names, parents)}
    elif dynamics == "random":
        cards = np.broadcast_to(np.asarray(n_states, int), (n_nodes,))
        if (cards < 2).any():
            raise ParameterError("random_network: every node needs two or more states")
        shape, rate = rate_prior
        if not (shape > 0 and rate > 0):
            raise ParameterError(f"random_network: rate_prior needs positive numbers, not {rate_prior!r}")
        variables = [Variable(name, tuple(range(c))) for name, c in zip(names, cards)]
        rates = {}
        for i, (name, ps) in enumerate(zip(names, parents)):
            size = (*cards[ps], cards[i], cards[i])
            cim = rng.gamma(shape, 1 / rate, size)
            diagonal = np.arange(cards[i])
            cim[..., diagonal, diagonal] = 0
            cim[..., diagonal, diagonal] = -cim.sum(-1)
            rates[name] = cim
    else:
        raise ParameterError(f"random_network: dynamics is 'glauber' or 'random', not {dynamics!r}")
    return CTBN(variables, {name: [names[j] for j in ps] for name, ps in zip(names, parents)}, rates)


def glauber_rates(n_parents: int, coupling: float) -> FloatArray:
    """Intensity matrices (2, ..., 2, 2, 2) of a spin with `n_parents` parents, states -1 and 1."""
    spins = np.array([-1.0, 1.0])
    field = np.zeros((2,) * n_parents)
    for axis in range(n_parents):
        field = field + spins.reshape([2 if a == axis else 1 for a in range(n_parents)])
    flip = 0.5 + 0.5 * np.tanh(coupling * field[..., None] * spins)
    cim = np.empty((*field.shape, 2, 2))
    cim[..., 0, 1], cim[..., 1, 0] = flip[..., 0], flip[..., 1]
    cim[..., 0, 0], cim[..., 1, 1] = -flip[..., 0], -flip[..., 1]
    return cim

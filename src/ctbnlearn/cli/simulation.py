"""`ctbnlearn simulate` and `ctbnlearn demo`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ctbnlearn as cl
from ctbnlearn.cli.learning import fit, tell
from ctbnlearn.cli.progress import ProgressLines, visible
from ctbnlearn.cli.reading import read_noise
from ctbnlearn.errors import ParameterError
from ctbnlearn.result.archive import check_result_target


def run_simulate(
    network: Path | None,
    drawn: Mapping[str, Any],
    trajectories: int,
    length: Mapping[str, Any],
    seen: Mapping[str, Any],
    seed: int | None,
    out: Path,
    truth: Path | None,
    quiet: bool,
) -> int:
    """Draw paths, look at them, and write a table."""
    if not seen["n_times"] and (seen["noise"] or seen["missing"]):
        raise ParameterError("complete paths (--observations 0) have neither noise nor missing cells; leave those out")
    streams = _seeds(seed)
    net = cl.random_network(**drawn, rng=streams[0]) if network is None else cl.CTBN.load(network)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        paths = cl.simulate(net, trajectories, **length, rng=streams[1])
    if seen["n_times"]:
        noise = read_noise(seen["noise"] or None)
        obs = cl.observe(paths, n_times=seen["n_times"], noise=noise, missing=seen["missing"], rng=streams[2])
        cl.write_table(obs, out)
        what = repr(obs)
    else:
        cl.write_paths(paths, out)
        what = repr(paths)
    if truth is not None:
        net.save(truth)
    with ProgressLines(quiet) as progress:
        for warning in caught:
            progress.note(f"note: {warning.message}")
        progress.note(f"{what} of {net!r}, written to {visible(out)}")
    return 0


def run_demo(out: Path, seed: int, quiet: bool, as_json: bool) -> int:
    """Simulate, observe, learn back, compare."""
    check_result_target(out)
    with ProgressLines(quiet or as_json) as progress:
        net = cl.random_network(n_nodes=6, max_parents=2, coupling=0.6, rng=seed)
        paths = cl.simulate(net, n_trajectories=100, n_transitions=10, rng=seed + 1)
        obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), missing=0.1, rng=seed + 2)
        progress.note("the truth: " + ", ".join(f"{s} -> {t}" for s, t in net.edges))
        reading = {"data": "simulated", "seed": seed, "truth": [list(edge) for edge in net.edges]}
        result = fit(obs, {"max_parents": 2}, reading, progress)
        progress.phase(f"writing {out}")
        result.save(out)
        found = cl.edge_scores(net, result.edge_probabilities)
    code = tell(result, out, quiet, as_json)
    if not (quiet or as_json):
        print(f"against the truth: AUROC {found['auroc']:.3f}, wrong edges at 0.5: {found['shd']:.0f}")
    return code


def _seeds(seed: int | None) -> list[Any]:
    """Independent streams for network, paths and observations."""
    import numpy as np

    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3)]

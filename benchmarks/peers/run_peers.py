"""Learn a structure from complete trajectories with every peer that can; print one JSON line per method.

Usage: .venv/bin/python run_peers.py data.json [--timeout 120] [--method pyagrum-ctpc ...]

The data file holds {"names": [...], "n_states": [...], "trajectories": [{"initial": [codes], "end": T,
"jumps": [[time, variable_index, new_code], ...]}, ...]}. Each method runs in a process of its own, on one
core; the time printed is that of the learning call alone, without imports and without the conversion of
the data. A peer that is missing, fails or runs out of time gives a line with its "error".
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Data = dict[str, Any]
Edges = list[list[str]]
Learn = Callable[[], Edges]
Segment = tuple[int, int, float, float]  # variable, code, from, until

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def segments(trajectory: Data) -> Iterator[Segment]:
    """Stays of single variables, in the order in which they end."""
    state = list(trajectory["initial"])
    since = [0.0] * len(state)
    for when, variable, code in trajectory["jumps"]:
        yield variable, state[variable], since[variable], when
        state[variable], since[variable] = code, when
    for variable, code in enumerate(state):
        yield variable, code, since[variable], trajectory["end"]


# --- pyAgrum ---------------------------------------------------------------------------------------------


def pyagrum_csv(data: Data, path: Path) -> None:
    """Write `IdSample,time,var,state`: initial states at time 0, then each state when it is left."""
    if len({trajectory["end"] for trajectory in data["trajectories"]}) > 1:
        raise ValueError("pyAgrum takes the end of its first trajectory for all of them")
    names = data["names"]
    with path.open("w") as file:
        file.write("IdSample,time,var,state\n")
        for i, trajectory in enumerate(data["trajectories"]):
            for name, code in zip(names, trajectory["initial"], strict=True):
                file.write(f"{i},0,{name},{code}\n")
            for variable, code, _, until in segments(trajectory):
                file.write(f"{i},{until!r},{names[variable]},{code}\n")


def pyagrum_ctpc(data: Data) -> Learn:
    """CTPC as shipped: it averages counts over trajectories, so that many short ones give weak tests."""
    from pyagrum.ctbn import Learner

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectories.csv"
        pyagrum_csv(data, path)
        learner = Learner(str(path))

    def learn() -> Edges:
        model = learner.learnCTBN()
        return [[model.name(source), model.name(target)] for source, target in model.arcs()]

    return learn


# --- causal-hub ------------------------------------------------------------------------------------------


def causal_hub(data: Data, algorithm: str) -> Learn:
    """One round of structural EM on full evidence: the only structure learner the Python package offers.

    Its sampler cuts each trajectory short and weights it by the chance of its initial state, 2**-N.
    """
    import pandas as pd
    from causal_hub.datasets import CatTrjsEv
    from causal_hub.estimators import PK, sem

    names = data["names"]
    frames = []
    for trajectory in data["trajectories"]:
        rows = [(names[v], str(code), since, until) for v, code, since, until in segments(trajectory)]
        frame = pd.DataFrame(rows, columns=["event", "state", "start_time", "end_time"])
        frames.append(frame.astype({"event": object, "state": object}))
    states = {name: [str(code) for code in range(n)] for name, n in zip(names, data["n_states"], strict=True)}
    evidence = CatTrjsEv.from_pandas(frames, states)
    knowledge = PK(names, [], [], [])

    def learn() -> Edges:
        result = sem(evidence, knowledge, algorithm, max_iter=1)
        return [list(edge) for edge in result["last_model"].graph().edges()]

    return learn


# --- PyCTBN ----------------------------------------------------------------------------------------------


def pyctbn_sample_path(data: Data, labels: list[str]) -> Any:
    """Rows that hold from their time on; a last row of -1 marks the end."""
    import numpy as np
    import pandas as pd

    for name, kind in (("int", int), ("float", float)):  # PyCTBN 2 still uses these removed aliases
        if name not in vars(np):
            setattr(np, name, kind)
    from PyCTBN import SampleImporter, SamplePath

    frames = []
    for trajectory in data["trajectories"]:
        state = list(trajectory["initial"])
        rows = [(0.0, *state)]
        for when, variable, code in trajectory["jumps"]:
            state[variable] = code
            rows.append((when, *state))
        rows.append((trajectory["end"], *(-1 for _ in state)))
        frames.append(pd.DataFrame(rows, columns=["Time", *labels]))
    importer = SampleImporter(
        trajectory_list=frames,
        variables=pd.DataFrame({"Name": labels, "Value": data["n_states"]}),
        prior_net_structure=pd.DataFrame({"From": [], "To": []}),
    )
    importer.import_data()
    path = SamplePath(importer=importer)
    path.build_trajectories()
    path.build_structure()
    return path


def pyctbn(data: Data, algorithm: str) -> Learn:
    # Its constraint-based learner takes a node's label for a list of characters: labels of one character.
    labels = [chr(ord("A") + i) if i < 26 else chr(0x4E00 + i) for i in range(len(data["names"]))]
    name_of = dict(zip(labels, data["names"], strict=True))
    path = pyctbn_sample_path(data, labels)
    from PyCTBN import StructureConstraintBasedEstimator, StructureScoreBasedEstimator

    if algorithm == "ctpc":
        constraint = StructureConstraintBasedEstimator(path, exp_test_alfa=0.1, chi_test_alfa=0.1)
        estimate = constraint.estimate_structure
        options: dict[str, Any] = {}
    else:
        estimate = StructureScoreBasedEstimator(path, tau_xu=0.1, alpha_xu=1).estimate_structure
        options = {"optimizer": "hill"}

    def learn() -> Edges:
        edges = estimate(disable_multiprocessing=True, **options)
        return [[name_of[str(source)], name_of[str(target)]] for source, target in edges]

    return learn


# --- running ---------------------------------------------------------------------------------------------

# key: (distribution, what is run, data -> learning call)
METHODS: dict[str, tuple[str, str, Callable[[Data], Learn]]] = {
    "pyctbn-ctpc": ("PyCTBN", "constraint-based (CTPC)", lambda data: pyctbn(data, "ctpc")),
    "pyctbn-hill": ("PyCTBN", "Bayesian score, hill-climbing", lambda data: pyctbn(data, "hill")),
    "pyagrum-ctpc": ("pyAgrum", "constraint-based (CTPC)", pyagrum_ctpc),
    "causal-hub-cthc": ("causal-hub", "BIC hill-climbing in sem()", lambda data: causal_hub(data, "cthc")),
    "causal-hub-ctpc": ("causal-hub", "CTPC in sem()", lambda data: causal_hub(data, "ctpc")),
}


def report(key: str, seconds: float | None = None, edges: Edges | None = None, error: str | None = None) -> str:
    peer, method, _ = METHODS[key]
    try:
        version = importlib.metadata.version(peer)
    except importlib.metadata.PackageNotFoundError:
        version = None
    line = {"peer": peer, "version": version, "method": method, "seconds": seconds}
    return json.dumps({**line, "edges": sorted(edges or []), "error": error})


def run_here(key: str, data: Data) -> str:
    if hasattr(os, "sched_setaffinity"):  # some peers start threads whatever they are told
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        with contextlib.redirect_stdout(sys.stderr):
            learn = METHODS[key][2](data)
            start = time.perf_counter()
            edges = learn()
            seconds = time.perf_counter() - start
    except ImportError as problem:
        return report(key, error=f"not installed: {problem}")
    except BaseException as problem:  # a Rust panic is no Exception
        return report(key, error=f"{type(problem).__name__}: {problem}")
    return report(key, seconds, edges)


def run_apart(key: str, path: Path, timeout: float) -> str:
    command = [sys.executable, __file__, str(path), "--here", "--method", key]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | dict.fromkeys(THREADS, "1"),
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return report(key, error=f"no result in {timeout:g} s")
    if process.returncode or not out.strip():
        last = (err.strip().splitlines() or ["no message"])[-1]
        return report(key, error=f"exit status {process.returncode}: {last}")
    return out.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one method")
    parser.add_argument("--method", choices=METHODS, action="append", help="only this one (may be repeated)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for key in options.method or METHODS:
        if options.here:
            print(run_here(key, json.loads(options.data.read_text())))
        else:
            print(run_apart(key, options.data, options.timeout), flush=True)


if __name__ == "__main__":
    main()

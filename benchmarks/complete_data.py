"""Complete-data learning in PyCTBN's setting, beside the peers that run here.

N = 20 binary nodes, 20 trajectories of length 50, all parent sets of size <= 2 scored.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import Row, best_of, seconds

import ctbnlearn as cl
from ctbnlearn.experiments.peers import peer_data

PEERS = Path(__file__).parent / "peers"
SETTING = "cl.simulate(cl.random_network(20, 2, rng=0), 20, horizon=50.0, rng=1)"


def rows() -> list[Row]:
    net = cl.random_network(20, 2, rng=0)
    paths = cl.simulate(net, 20, horizon=50.0, rng=1)
    learner = cl.StructureLearner(max_parents=2)
    ours = best_of(lambda: learner.fit(paths))
    climb = best_of(lambda: cl.HillClimb(2).fit(paths))
    cold_code = (
        "import time; t = time.perf_counter(); import ctbnlearn as cl; "
        f"p = {SETTING}; s = time.perf_counter(); cl.StructureLearner(2).fit(p); "
        "print(time.perf_counter() - t, time.perf_counter() - s)"
    )
    out = subprocess.run([sys.executable, "-c", cold_code], capture_output=True, text=True, check=True).stdout.split()
    correct = cl.edge_scores(net, learner.edge_probabilities_)
    name = f"N=20 complete data ({paths.n_transitions:,} transitions), "
    found = [
        (name + "all 3,820 sets, warm", seconds(ours), f"x{0.1 / ours:.2g}", "target 0.1 s"),
        (name + "first fit of a process", seconds(float(out[1])), "", ""),
        (name + "import + simulate + fit, cold", seconds(float(out[0])), "", ""),
        (name + "hill-climb, warm", seconds(climb), "", ""),
        (name + "wrong edges at 0.5", f"{correct['shd']:.0f} of 380", "", f"AUPR {correct['aupr']:.3f}"),
    ]
    return found + peer_rows(net, paths, ours)


def peer_rows(net: cl.CTBN, paths: cl.Paths, ours: float) -> list[Row]:
    python = PEERS / ".venv" / "bin" / "python"
    if not python.exists():
        return [("peers", "not installed", "", "run benchmarks/peers/setup.sh")]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.json"
        file.write_text(json.dumps(peer_data(paths)))
        lines = subprocess.run(
            [python, PEERS / "run_peers.py", file], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    truth = set(net.edges)
    for line in lines:
        peer = json.loads(line)
        name = f"peer: {peer['peer']} {peer['version'] or ''}, {peer['method']}"
        if peer["error"]:
            out.append((name, peer["error"][:60], "", ""))
            continue
        edges = {tuple(e) for e in peer["edges"]}
        hits = len(edges & truth)
        quality = f"precision {hits / max(len(edges), 1):.2f}, recall {hits / len(truth):.2f}"
        out.append((name, seconds(peer["seconds"]), f"x{peer['seconds'] / ours:.3g} ours", quality))
    return out

"""Other packages on the same complete trajectories, each in a process of the peers' own environment.

`benchmarks/peers/setup.sh` of a checkout makes that environment; `$CTBNLEARN_PEERS` names the folder elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.experiments.rows import Row
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.structure.metrics import edge_scores

METHODS = ("pyagrum-ctpc", "causal-hub-cthc", "causal-hub-ctpc")  # the peers that have a package in the registry
TIMEOUT = 60.0  # seconds for one method on one data set


def find_peers() -> tuple[Path, Path]:
    """The peers' Python and the program that runs them, or an error that says how to get them."""
    given = os.environ.get("CTBNLEARN_PEERS")
    places = [Path(given)] if given else [Path("benchmarks/peers"), Path(__file__).parents[3] / "benchmarks" / "peers"]
    for place in places:
        python, program = place / ".venv" / "bin" / "python", place / "run_peers.py"
        if python.exists() and program.exists():
            return python.absolute(), program.absolute()
    raise ParameterError(
        "--peers: the other packages are not installed; run benchmarks/peers/setup.sh in a checkout, and set "
        "CTBNLEARN_PEERS to that folder if you work elsewhere"
    )


def peer_data(paths: Paths) -> dict[str, Any]:
    """Complete trajectories as run_peers.py reads them."""
    return {
        "names": list(paths.names),
        "n_states": [v.n_states for v in paths.variables],
        "trajectories": [
            {
                "initial": paths.initial[k].tolist(),
                "end": float(paths.end[k]),
                "jumps": [
                    [float(paths.times[r]), int(paths.nodes[r]), int(paths.targets[r])]
                    for r in range(paths.offsets[k], paths.offsets[k + 1])
                ],
            }
            for k in range(paths.n_trajectories)
        ],
    }


def run_peers(paths: Paths, timeout: float = TIMEOUT) -> list[dict[str, Any]]:
    """One line per method: peer, version, method, seconds, edges, error."""
    python, program = find_peers()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.json"
        file.write_text(json.dumps(peer_data(paths)))
        chosen = [part for method in METHODS for part in ("--method", method)]
        command = [str(python), str(program), str(file), "--timeout", f"{timeout:g}", *chosen]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ParameterError(f"--peers: {program} failed ({last}); run benchmarks/peers/setup.sh again")
    return [json.loads(line) for line in done.stdout.splitlines()]


def peer_rows(net: CTBN, paths: Paths, timeout: float = TIMEOUT) -> list[Row]:
    """Accuracy and time of every peer; edges they report count as probability one."""
    rows: list[Row] = []
    for line in run_peers(paths, timeout):
        name = f"{line['peer']} {line['version'] or ''}, {line['method']}".replace(" ,", ",")
        row: Row = {"method": name, "seconds": line["seconds"], "error": line["error"]}
        if line["error"] is None:
            found = np.zeros((len(net.names),) * 2)
            for source, target in line["edges"]:
                found[net.names.index(source), net.names.index(target)] = 1.0
            scores = edge_scores(net, found)
            row.update((key, scores[key]) for key in ("auroc", "aupr", "shd"))  # yes or no: no loss to reckon
        rows.append(row)
    return rows


def failures(rows: list[Row]) -> dict[str, str]:
    """The first thing that went wrong with every method that failed somewhere."""
    out: dict[str, str] = {}
    for row in rows:
        if row.get("error"):
            out.setdefault(f"{row['method']} failed", str(row["error"]))
    return out

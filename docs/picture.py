"""Draw docs/picture.png, the picture of the README: what `ctbnlearn demo` finds, and one of its units up close.

Run `ctbnlearn demo --out ctbnlearn-demo` first, then `python docs/picture.py`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import ctbnlearn as cl
from ctbnlearn.result.unit import smooth_units

result = cl.load_result("ctbnlearn-demo")
net = cl.random_network(n_nodes=6, max_parents=2, coupling=0.6, rng=4)  # the demo's seeds
paths = cl.simulate(net, n_trajectories=100, n_transitions=10, rng=5)
obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), missing=0.1, rng=6)
unit = smooth_units(result.network, obs, ["0"])[0]

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained", width_ratios=[1, 1, 1.4])
cl.plot.plot_network(result.edge_probabilities, result.names, ax=left)
left.set_title("which drives which, learned")
cl.plot.plot_edge_probabilities(result.edge_probabilities, result.names, ax=middle)
middle.set_title("how sure")
states = {v.name: v.states for v in result.network.variables}
cl.plot.plot_trajectory(unit.times, unit.probabilities, states, unit.observations, ax=right)
right.set_title("one unit: what was seen, and the states in between")
figure.savefig(Path(__file__).parent / "picture.png", dpi=110)

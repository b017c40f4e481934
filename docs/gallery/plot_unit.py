"""
One unit between its visits
===========================

What a unit probably did while nobody looked: state probabilities of every variable, given all that was seen of it.
"""

import matplotlib.pyplot as plt
import numpy as np

import ctbnlearn as cl

truth = cl.random_network(3, max_parents=2, coupling=0.9, rng=5)
paths = cl.simulate(truth, n_trajectories=60, horizon=8.0, rng=6)
obs = cl.observe(paths, n_times=6, missing=0.3, rng=7)
learner = cl.StructureLearner(max_parents=2, inference="exact").fit(obs)

times = np.linspace(0.0, 8.0, 200)
one = obs.select([0])
probabilities = {name: table[0] for name, table in learner.smooth(one, times).items()}
seen = {v.name: [(t, v.states[x]) for t, x in zip(s.times, s.values)] for v, s in zip(one.variables, one.series)}

figure, ax = plt.subplots(figsize=(8, 3.6))
cl.plot.plot_trajectory(times, probabilities, {v.name: v.states for v in obs.variables}, seen, ax=ax)
figure.tight_layout()

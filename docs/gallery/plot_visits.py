"""
Are visits frequent enough?
===========================

The time between two moves of each variable over the gaps between visits: of a variable that moves several times between
two visits, the data can hardly tell what drove it.
"""

import matplotlib.pyplot as plt

import ctbnlearn as cl

truth = cl.CTBN(
    {"slow": ["no", "yes"], "medium": ["low", "high"], "fast": ["off", "on"]},
    {},
    {"slow": [[-0.1, 0.1], [0.2, -0.2]], "medium": [[-0.8, 0.8], [0.6, -0.6]], "fast": [[-4.0, 4.0], [5.0, -5.0]]},
)
paths = cl.simulate(truth, n_trajectories=100, horizon=10.0, rng=1)
obs = cl.observe(paths, n_times=10, missing=0.2, rng=2)

figure, ax = plt.subplots(figsize=(8, 3))
cl.plot.plot_description(cl.describe(obs), ax=ax)
figure.tight_layout()

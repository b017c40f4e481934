"""
The network that was learned
============================

Arrows are the darker the more probable. Where the truth is known, as here, it can be drawn along.
"""

import matplotlib.pyplot as plt

import ctbnlearn as cl

truth = cl.random_network(5, max_parents=2, rng=3)
paths = cl.simulate(truth, n_trajectories=40, n_transitions=10, rng=4)
result = cl.StructureLearner(max_parents=2).fit(paths).result_

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
cl.plot.plot_network(result, threshold=0.3, truth=truth, ax=left)
cl.plot.plot_edge_probabilities(result, ax=right)
figure.tight_layout()

# %%
# The left figure leaves out edges below the threshold. The right one has the probability of every edge, from the
# variable of the row to that of the column.

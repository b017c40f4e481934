"""
How many trajectories are enough?
=================================

ROC and precision-recall curves of a simulated network, whose truth is known, from few and from more trajectories.
"""

import matplotlib.pyplot as plt

import ctbnlearn as cl

truth = cl.random_network(8, max_parents=2, rng=11)
figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for trajectories, colour in [(5, "#a0c4e0"), (20, "#3f8fc4"), (80, "#084a80")]:
    paths = cl.simulate(truth, trajectories, n_transitions=16, rng=12)
    learner = cl.StructureLearner(max_parents=2).fit(paths)
    cl.plot.plot_edge_scores(truth, learner.edge_probabilities_, truth.names, ax=axes)
    for ax in axes:
        ax.get_lines()[-1].set(color=colour, label=f"{trajectories} trajectories")
for ax, title in zip(axes, ("ROC", "Precision and recall")):
    ax.set_title(title)
    ax.legend(loc="lower right" if title == "ROC" else "lower left")
figure.tight_layout()

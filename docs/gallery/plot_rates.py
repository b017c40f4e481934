"""
Rates and parent sets of one variable
=====================================

How fast a variable moves from state to state, under two states of its parents, and which sets of parents were weighed.
"""

import matplotlib.pyplot as plt

import ctbnlearn as cl

truth = cl.CTBN(
    {"smoker": ["no", "yes"], "stage": ["mild", "moderate", "severe"]},
    {"stage": ["smoker"]},
    {
        "smoker": [[-0.3, 0.3], [0.4, -0.4]],
        "stage": [
            [[-0.2, 0.2, 0.0], [0.5, -0.6, 0.1], [0.0, 0.6, -0.6]],
            [[-0.8, 0.8, 0.0], [0.2, -0.7, 0.5], [0.0, 0.2, -0.2]],
        ],
    },
)
paths = cl.simulate(truth, n_trajectories=200, horizon=10.0, rng=1)
learner = cl.StructureLearner().fit(paths)
learned = learner.network_

stage = learned.names.index("stage")
smokes = ["smoker = no", "smoker = yes"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1))
cl.plot.plot_rates(learned.cims[stage], learned.variables[stage].states, smokes, name="stage", ax=left)
cl.plot.plot_parent_sets(learner.result_, name="stage", ax=right)
figure.tight_layout()

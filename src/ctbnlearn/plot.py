"""Figures with matplotlib. Each function draws on the Axes given as `ax`, or on a new figure, and returns the Axes."""

from ctbnlearn.report.convergence import plot_convergence
from ctbnlearn.report.curves import plot_edge_scores
from ctbnlearn.report.description import plot_description
from ctbnlearn.report.heatmap import plot_edge_probabilities
from ctbnlearn.report.network import plot_network
from ctbnlearn.report.parent_sets import plot_parent_sets
from ctbnlearn.report.rates import plot_rates
from ctbnlearn.report.trajectory import plot_trajectory

__all__ = [
    "plot_convergence",
    "plot_description",
    "plot_edge_probabilities",
    "plot_edge_scores",
    "plot_network",
    "plot_parent_sets",
    "plot_rates",
    "plot_trajectory",
]

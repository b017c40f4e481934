"""Variational inference for a known network of any size; `ctbnlearn.exact` is the exact counterpart for small ones."""

from ctbnlearn.inference.posterior import expected_statistics, log_evidence, predictive, smooth

__all__ = ["expected_statistics", "log_evidence", "predictive", "smooth"]

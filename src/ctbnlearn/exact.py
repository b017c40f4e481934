"""Exact inference for networks whose joint states can be listed (up to some 16 to 20 binary variables)."""

from ctbnlearn.inference.exact import expected_statistics, filter, log_evidence, smooth
from ctbnlearn.model.joint import amalgamate

__all__ = ["amalgamate", "expected_statistics", "filter", "log_evidence", "smooth"]

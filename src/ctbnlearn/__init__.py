"""Structure learning of continuous-time Bayesian networks (CTBNs).

Learns which variable drives which from continuous-time data, after Linzner, Schmidt & Koeppl, "Scalable
Structure Learning of Continuous-Time Bayesian Networks from Incomplete Data" (NeurIPS 2019).
Public names are loaded on first use, so that importing the package stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from ctbnlearn import exact as exact
    from ctbnlearn import plot as plot
    from ctbnlearn import variational as variational
    from ctbnlearn.data.complete import read_paths as read_paths
    from ctbnlearn.data.description import describe as describe
    from ctbnlearn.data.noise import GaussianNoise as GaussianNoise
    from ctbnlearn.data.noise import LabelNoise as LabelNoise
    from ctbnlearn.data.noise import Levels as Levels
    from ctbnlearn.data.noise import PoissonNoise as PoissonNoise
    from ctbnlearn.data.noise import ThresholdNoise as ThresholdNoise
    from ctbnlearn.data.observations import Observations as Observations
    from ctbnlearn.data.observations import observe as observe
    from ctbnlearn.data.paths import Paths as Paths
    from ctbnlearn.data.prepare import prepare_table as prepare_table
    from ctbnlearn.data.pyagrum import read_pyagrum as read_pyagrum
    from ctbnlearn.data.pyctbn import read_pyctbn as read_pyctbn
    from ctbnlearn.data.scan import scan_table as scan_table
    from ctbnlearn.data.segments import Segments as Segments
    from ctbnlearn.data.table_scan import TableScan as TableScan
    from ctbnlearn.data.tables import read_table as read_table
    from ctbnlearn.data.variables import Variable as Variable
    from ctbnlearn.data.writers import write_paths as write_paths
    from ctbnlearn.data.writers import write_table as write_table
    from ctbnlearn.errors import CtbnlearnError as CtbnlearnError
    from ctbnlearn.inference.methods import Blocks as Blocks
    from ctbnlearn.inference.methods import Exact as Exact
    from ctbnlearn.inference.methods import MeanField as MeanField
    from ctbnlearn.inference.methods import Sampling as Sampling
    from ctbnlearn.inference.methods import Star as Star
    from ctbnlearn.inference.statistics import Statistics as Statistics
    from ctbnlearn.inference.statistics import count_statistics as count_statistics
    from ctbnlearn.learn.bagging import Bagged as Bagged
    from ctbnlearn.learn.checking import ModelCheck as ModelCheck
    from ctbnlearn.learn.checking import check_model as check_model
    from ctbnlearn.learn.ctpc import CTPC as CTPC
    from ctbnlearn.learn.learner import StructureLearner as StructureLearner
    from ctbnlearn.learn.progress import ProgressEvent as ProgressEvent
    from ctbnlearn.learn.risk_check import check_risk as check_risk
    from ctbnlearn.learn.searches import HillClimb as HillClimb
    from ctbnlearn.learn.searches import Tabu as Tabu
    from ctbnlearn.learn.sem import StructuralEM as StructuralEM
    from ctbnlearn.model.ctbn import CTBN as CTBN
    from ctbnlearn.model.random_network import random_network as random_network
    from ctbnlearn.model.simulation import simulate as simulate
    from ctbnlearn.result.archive import load_result as load_result
    from ctbnlearn.result.bags import Bags as Bags
    from ctbnlearn.result.rate_table import RateTable as RateTable
    from ctbnlearn.result.result import Result as Result
    from ctbnlearn.structure.metrics import edge_scores as edge_scores
    from ctbnlearn.structure.metrics import interpolated_aupr as interpolated_aupr
    from ctbnlearn.structure.mixture import Mixture as Mixture
    from ctbnlearn.structure.prior import ProjectedPrior as ProjectedPrior

_HOME = {
    "Bagged": "learn.bagging",
    "Bags": "result.bags",
    "Blocks": "inference.methods",
    "CTBN": "model.ctbn",
    "CTPC": "learn.ctpc",
    "CtbnlearnError": "errors",
    "Exact": "inference.methods",
    "GaussianNoise": "data.noise",
    "HillClimb": "learn.searches",
    "LabelNoise": "data.noise",
    "Levels": "data.noise",
    "MeanField": "inference.methods",
    "Mixture": "structure.mixture",
    "ModelCheck": "learn.checking",
    "Observations": "data.observations",
    "Paths": "data.paths",
    "PoissonNoise": "data.noise",
    "ProgressEvent": "learn.progress",
    "ProjectedPrior": "structure.prior",
    "RateTable": "result.rate_table",
    "Result": "result.result",
    "Sampling": "inference.methods",
    "Segments": "data.segments",
    "Star": "inference.methods",
    "Statistics": "inference.statistics",
    "StructuralEM": "learn.sem",
    "StructureLearner": "learn.learner",
    "TableScan": "data.table_scan",
    "Tabu": "learn.searches",
    "ThresholdNoise": "data.noise",
    "Variable": "data.variables",
    "check_model": "learn.checking",
    "check_risk": "learn.risk_check",
    "count_statistics": "inference.statistics",
    "describe": "data.description",
    "edge_scores": "structure.metrics",
    "interpolated_aupr": "structure.metrics",
    "load_result": "result.archive",
    "observe": "data.observations",
    "prepare_table": "data.prepare",
    "random_network": "model.random_network",
    "read_paths": "data.complete",
    "read_pyagrum": "data.pyagrum",
    "read_pyctbn": "data.pyctbn",
    "read_table": "data.tables",
    "scan_table": "data.scan",
    "simulate": "model.simulation",
    "write_paths": "data.writers",
    "write_table": "data.writers",
}

_MODULES = ("exact", "plot", "variational")
__all__ = ["__version__", *_MODULES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"ctbnlearn.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ctbnlearn' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ctbnlearn.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

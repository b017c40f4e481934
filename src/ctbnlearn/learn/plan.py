"""What a `StructureLearner` would do with data, without doing it: its settings checked, edges to weigh, method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctbnlearn.arguments import generator, one_of
from ctbnlearn.arrays import BoolArray
from ctbnlearn.data.constant import never_changing
from ctbnlearn.data.kinds import Data
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Blocks, Method, Sampling, Star, as_method
from ctbnlearn.interface import spoken
from ctbnlearn.learn.choice import choose_method
from ctbnlearn.learn.limits import check_rates
from ctbnlearn.learn.progress import Progress
from ctbnlearn.structure.mixture import Mixture, as_mixture
from ctbnlearn.structure.problem import EdgeRules, check_transitions

if TYPE_CHECKING:
    from ctbnlearn.learn.learner import StructureLearner
    from ctbnlearn.learn.sem import StructuralEM


class Plan(NamedTuple):
    """Edges that are weighed, transitions that are possible, the method (None: complete data), mixture weights."""

    rules: EdgeRules
    possible: list[BoolArray | None]
    method: Method | None
    mixture: Mixture | None


def make_plan(learner: StructureLearner, data: Data) -> Plan:
    """Check the settings of a learner, alone and against the data, and choose what they leave open."""
    method, mixture = check_settings(learner)
    rules = EdgeRules.build(
        data.names,
        learner.max_parents,
        learner.candidates,
        learner.forbidden,
        learner.required,
        learner.exogenous,
        learner.adjust_for,
        never_changing(data),
    )
    states, ordered = [v.states for v in data.variables], [v.ordered for v in data.variables]
    possible = check_transitions(learner.transitions, data.names, states, ordered)
    if isinstance(data, Paths):
        return Plan(rules, possible, None, mixture)
    check_rates(data.variables, rules)
    method = method or (Star() if mixture is not None else choose_method(data, rules))
    return Plan(rules, possible, method, mixture)


def check_settings(learner: StructureLearner) -> tuple[Method | None, Mixture | None]:
    """Check the settings that do not depend on the data; returns method and mixture weights, if any."""
    method, mixture = as_method(learner.inference), as_mixture(learner.weights)
    if isinstance(method, (Sampling, Blocks)) and mixture is not None:
        raise ParameterError(
            f'inference="{method.name}" weighs parent sets by their posterior; use weights="posterior", or '
            'inference="star" for mixture weights'
        )
    if not isinstance(learner.resume, (bool, np.bool_)):
        raise ParameterError(f"resume must be True or False, not {learner.resume!r}")
    if learner.resume and learner.checkpoint is None:
        raise ParameterError("resume=True needs `checkpoint`, the folder to resume from")
    generator(learner.random_state, "random_state")
    check_run(learner)
    return method, mixture


def check_run(learner: StructureLearner | StructuralEM) -> None:
    """Check a learner's precision, device, progress and callback."""
    one_of(learner.precision, "precision", ("auto", "float64", "float32"))
    one_of(learner.device, spoken("device", "--device"), ("auto", "cpu", "gpu"))
    Progress(learner.progress)
    if learner.callback is not None and not callable(learner.callback):
        raise ParameterError(f"callback must be a function of (iteration, objective), not {learner.callback!r}")

"""How paths are inferred: one small object a method, with the settings that are its own.

`inference="sampling"` is short for `Sampling()`, and so on; "auto" chooses by the size of the task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, ClassVar, final

from ctbnlearn.arguments import finite, one_of, whole
from ctbnlearn.errors import ParameterError


class Method(ABC):
    """A way to infer paths."""

    name: ClassVar[str]

    @abstractmethod
    def check(self) -> None:
        """Raise where a setting is not one."""

    def settings(self) -> dict[str, Any]:
        """Its settings by name, in JSON types."""
        return {"method": self.name, **asdict(self)}  # type: ignore[call-overload]

    def identity(self) -> dict[str, Any]:
        """Settings on which every step depends: all but the limit to their number."""
        return {key: value for key, value in self.settings().items() if key not in ("max_iter", "sweeps", "rounds")}


@final
@dataclass(frozen=True)
class Sampling(Method):
    """Paths, parent sets and rates drawn by Gibbs sampling, in several chains; exact but for the number of draws.

    Parameters
    ----------
    chains : int
        Chains, each with its own random numbers; as many run side by side as there are processors.
    sweeps : int or None
        Sweeps of each chain at most. None: as many as take very roughly a minute a chain, 200 to 10,000.
    agreement : float
        Chains go on until they give no edge probabilities further apart than this, and their rates have mixed. After
        a thousand sweeps they may be twice as far apart, if the standard error of every average, but for one in two
        hundred, is at most a quarter of this.
    """

    name: ClassVar[str] = "sampling"
    chains: int = 4
    sweeps: int | None = None
    agreement: float = 0.1

    def check(self) -> None:
        """Raise where a setting is not one."""
        whole(self.chains, "Sampling: chains", 1)
        if self.sweeps is not None:
            whole(self.sweeps, "Sampling: sweeps", 1)
        if finite(self.agreement, "Sampling: agreement") > 1:
            raise ParameterError(f"Sampling: agreement is a difference of probabilities, not {self.agreement!r}")


@final
@dataclass(frozen=True)
class Blocks(Method):
    """Exact joint chains of small blocks of variables, one or more around each: for hundreds of variables.

    Parameters
    ----------
    members : int
        Variables in a block: one, and its most promising candidates; one more where that takes in all variables, or
        where supposed parents are looked at again together with what leads from the variable to them.
    states : int
        Joint states of a block at most; blocks of variables with many states have fewer members.
    rounds : int
        Blocks of a variable at most: candidates left out of the first come in beside its best parents so far.
    """

    name: ClassVar[str] = "blocks"
    members: int = 4
    states: int = 36
    rounds: int = 8

    def check(self) -> None:
        """Raise where a setting is not one."""
        whole(self.members, "Blocks: members", 2)
        whole(self.states, "Blocks: states", 4)
        whole(self.rounds, "Blocks: rounds", 1)

    def most(self, cards: Sequence[int]) -> int:
        """Members of a block of variables with so many states: one more than usual where that takes them all in."""
        return self.members + (len(cards) == self.members + 1 and prod(cards) <= self.states)


@dataclass(frozen=True)
class Iterated(Method):
    """Expectation maximisation over paths, rates and parent sets.

    Parameters
    ----------
    rates : {"geometric", "arithmetic"}
        Path rates of the E-step. "arithmetic" is the closure of the paper's greedy search.
    initial : {"uniform", "full", "random"}
        Weights EM starts from: uniform over all sets, uniform over the largest ones (the paper's heuristic), or random.
        With many candidates EM starts from variables that do not drive each other.
    n_init : int
        Number of random starts; the one with the largest objective is kept.
    max_iter : int
        Weight updates at most.
    tol : float
        EM has converged when a round changes the objective by less than this many nats per trajectory and variable, and
        the probabilities of the edges into a variable by less than 0.1 in all, on average. Further rounds sharpen the
        winners: on simulated networks they cost accuracy and calibration.
    """

    rates: str = "geometric"
    initial: str = "uniform"
    n_init: int = 1
    max_iter: int = 50
    tol: float = 5e-3

    def check(self) -> None:
        """Raise where a setting is not one."""
        kind = type(self).__name__
        one_of(self.rates, f"{kind}: rates", ("geometric", "arithmetic"))
        one_of(self.initial, f"{kind}: initial", ("uniform", "full", "random"))
        whole(self.n_init, f"{kind}: n_init", 1)
        whole(self.max_iter, f"{kind}: max_iter", 1)
        finite(self.tol, f"{kind}: tol")

    def identity(self) -> dict[str, Any]:
        """Settings on which every round depends; of random starts their length, too."""
        return self.settings() if self.initial == "random" else super().identity()


@final
@dataclass(frozen=True)
class Exact(Iterated):
    """EM with paths on the joint chain of all variables: for up to nine of two states.

    With geometric rates the objective F is a lower bound of the log evidence.

    Parameters
    ----------
    rates, initial, n_init, max_iter, tol
        Of EM: "geometric" path rates (or "arithmetic"), "uniform" weights to start from (or "full", "random"), 1 random
        start, 50 rounds at most, and 0.005 nats per trajectory and variable as the change at which it has converged.
    """

    name: ClassVar[str] = "exact"


@dataclass(frozen=True)
class Factorised(Iterated):
    """EM with paths inferred variable by variable: quick, misled by many data or long gaps.

    Parameters
    ----------
    step : float or None
        Longest cell of the time grid; default a quarter of the shortest mean dwell time.
    """

    step: float | None = None

    def check(self) -> None:
        """Raise where a setting is not one."""
        super().check()
        if self.step is not None:
            finite(self.step, f"{type(self).__name__}: step")


@final
@dataclass(frozen=True)
class Star(Factorised):
    """The star approximation of the paper: a transition depends on what the parents do at that moment.

    Parameters
    ----------
    rates, initial, n_init, max_iter, tol
        Of EM: "geometric" path rates (or "arithmetic"), "uniform" weights to start from (or "full", "random"), 1 random
        start, 50 rounds at most, and 0.005 nats per trajectory and variable as the change at which it has converged.
    step : float or None
        Longest cell of the time grid; default a quarter of the shortest mean dwell time.
    """

    name: ClassVar[str] = "star"


@final
@dataclass(frozen=True)
class MeanField(Factorised):
    """Naive mean field (Cohn et al. 2010), the rival: a transition does not depend on what the parents then do.

    Parameters
    ----------
    rates, initial, n_init, max_iter, tol
        Of EM: "geometric" path rates (or "arithmetic"), "uniform" weights to start from (or "full", "random"), 1 random
        start, 50 rounds at most, and 0.005 nats per trajectory and variable as the change at which it has converged.
    step : float or None
        Longest cell of the time grid; default a quarter of the shortest mean dwell time.
    """

    name: ClassVar[str] = "mean_field"


METHODS: dict[str, type[Method]] = {kind.name: kind for kind in (Sampling, Blocks, Exact, Star, MeanField)}
AUTO = "auto"


def as_method(inference: str | Method) -> Method | None:
    """The method meant by a name or an object, checked; None for "auto"."""
    if isinstance(inference, str) and inference == AUTO:
        return None
    if isinstance(inference, str) and inference in METHODS:
        return METHODS[inference]()
    if not isinstance(inference, Method):
        kinds = ", ".join(f"{kind.__name__}()" for kind in METHODS.values())
        raise ParameterError(f"inference must be one of {[AUTO, *METHODS]}, or {kinds}, not {inference!r}")
    inference.check()
    return inference


def from_settings(settings: Any) -> Method | None:
    """The method that `Method.settings` tells of; None where none is told."""
    if not isinstance(settings, dict) or settings.get("method") not in METHODS:
        return None
    kind = METHODS[settings["method"]]
    return kind(**{key: value for key, value in settings.items() if key in kind.__dataclass_fields__})  # type: ignore[attr-defined]

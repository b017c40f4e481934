"""Everything that can go wrong on purpose.

All errors derive from :class:`CtbnlearnError`; each message says what is wrong, where, and what to do.
"""


class CtbnlearnError(ValueError):
    """Base of every error this package raises on purpose; its message stands on one line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(line.strip() for line in message.splitlines()))


class DataError(CtbnlearnError):
    """A table, file or array that cannot be read as trajectories or observations."""


class MeasuredColumnError(DataError):
    """A column of many different numbers, which needs an observation model or cuts.

    `variable` is its name, `advice` what to add for it.
    """

    def __init__(self, message: str, variable: str, advice: str) -> None:
        super().__init__(message)
        self.variable, self.advice = variable, advice


class DataWarning(UserWarning):
    """Something in a table that is probably not meant."""


class ModelError(CtbnlearnError):
    """A network that is not a CTBN: bad rates, unknown parents, duplicate names, a bad file."""


class ImpossibleEvidenceError(CtbnlearnError):
    """Observations that have probability zero under the network."""


class ParameterError(CtbnlearnError):
    """An argument outside its range, or arguments that contradict each other."""


class CheckpointError(CtbnlearnError):
    """A checkpoint that cannot be written, cannot be read, or belongs to other data or settings."""


class LockedError(CtbnlearnError):
    """A folder in which another run is at work."""


class ExecutionError(CtbnlearnError):
    """Work that the workers could not finish: they were lost again and again, ran out of memory, or are gone."""


class SimulationWarning(UserWarning):
    """A simulated path ended before the requested number of transitions."""

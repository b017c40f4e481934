"""The shapes in the annotations of jax kernels are those of their arrays.

Started as a script, this file imports the kernels with every function checked, runs them on small data and prints which
functions it has seen.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, wraps
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

KERNELS = [
    "ctbnlearn.inference.block_kernel",
    "ctbnlearn.inference.propagator",
    "ctbnlearn.inference.variational",
    "ctbnlearn.structure.pair_kernels",
]
MODULES = [*KERNELS, "ctbnlearn.inference.engine", "ctbnlearn.structure.all_pairs"]
called: set[str] = set()
cached_hints = cache(get_type_hints)


def test_shapes_are_as_annotated():
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    there = {f"{module}.{name}" for module in KERNELS for name, _ in functions(module)}
    assert there - set(run.stdout.split()) == set()


def test_annotations_can_be_evaluated():
    """What cannot be is left unchecked by jaxtyping."""
    for module in MODULES:
        for _, node in functions(module):
            for hint in (node.returns, *(a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg))):
                if hint is not None:
                    eval(ast.unparse(hint), vars(importlib.import_module(module)))


def functions(module: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """All functions of a module, also those inside of others, by qualified name."""

    def inside(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.FunctionDef):
                yield prefix + node.name, node
                yield from inside(node, f"{prefix}{node.name}.<locals>.")
            else:
                yield from inside(node, f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix)

    return inside(ast.parse(inspect.getsource(importlib.import_module(module))), "")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what the hint says, down to the arrays in lists, tuples and named tuples."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, h) for h in inside)
    if origin in (tuple, list, Sequence):
        each = isinstance(value, origin) and (origin is not tuple or inside[-1] is Ellipsis)
        hints = inside[:1] * len(value) if each else inside
        return isinstance(value, origin) and len(value) == len(hints) and all(map(fits, value, hints))
    if hasattr(hint, "_fields"):
        return isinstance(value, hint) and all(map(fits, value, cached_hints(hint).values()))
    if hint in (Any, inspect.Signature.empty) or not isinstance(hint, type):
        return True
    return isinstance(value, {int: Integral, float: Real}.get(hint, hint))  # numpy's numbers will do


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check arguments and results; jaxtyping gives it functions with the signatures of the real ones."""
    signature = inspect.signature(function)

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        called.add(f"{function.__module__}.{function.__qualname__}")
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            of = signature.parameters[name]
            if of.kind is not of.VAR_POSITIONAL and not fits(value, of.annotation):
                raise TypeError(name)
        out = function(*args, **kwargs)
        if not fits(out, signature.return_annotation):
            raise TypeError("return")
        return out

    return run


def traced(function: Callable[..., Any], **_settings: Any) -> Callable[..., Any]:
    """In place of compiling, which takes long: ones in the shapes that come out."""
    import jax

    def run(*args: Any, **static: Any) -> Any:
        found = jax.eval_shape(partial(function, **static), *args)
        return jax.tree.map(lambda a: jax.numpy.ones(a.shape, a.dtype), found)

    return run


def main() -> None:
    """Run every kernel; axes differ in length as far as they can."""
    from jaxtyping import install_import_hook

    from ctbnlearn.inference import device as devices

    devices.compiled = traced
    with install_import_hook(MODULES, "__main__.checked"):
        for module in MODULES:
            importlib.import_module(module)
    import numpy as np

    import ctbnlearn as cl
    from ctbnlearn.inference.block_evidence import BlockEvidence
    from ctbnlearn.inference.block_kernel import Batches
    from ctbnlearn.inference.contract import Effort, PathRates
    from ctbnlearn.inference.engine import PathEngine
    from ctbnlearn.structure.all_pairs import AllPairs
    from ctbnlearn.structure.problem import EdgeRules, Scoring

    cards = [2, 3, 2, 3, 3]
    network = cl.random_network(5, 2, dynamics="random", n_states=cards, rng=1)
    paths = cl.simulate(network, 9, horizon=2.0, rng=2)
    obs = cl.observe(paths, n_times=4, rng=3)
    device = devices.Device.find("cpu")

    for precision in ("float32", "float64"):
        rules = EdgeRules.build(paths.names, 2, None, None, [("x1", "x0")])
        AllPairs(cards, rules, Scoring(), [np.ones((c, c)) for c in cards], [None] * 5, precision, device).run(paths)

    rates = PathRates.of_network(network)
    for mean_field in (False, True):
        engine = PathEngine(obs, 0.7, mean_field=mean_field, queries=np.tile([0.5, 1.0], (9, 1)), device="cpu")
        engine.marginals_of(engine.expect(rates, Effort(1e-3, 2)).paths)
        engine.predictive(rates)
        engine.forecasts(rates)

    evidence = BlockEvidence(obs, 4.0, device)
    evidence.chains = Batches(evidence.cards, evidence.chains.pieces, device)
    blocks = np.array([[0, 1], [2, 4]]), np.ones((2, 3, 6)), np.full((2, 6), 1 / 6)
    evidence.totals(*blocks)
    evidence.score_products(*blocks)
    list(evidence.chains.by_cell(*blocks, 0))


if __name__ == "__main__":
    main()
    print(*called, sep="\n")

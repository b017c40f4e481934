"""The page of all public names, written anew at every build, so that none is ever missing."""

from __future__ import annotations

from pathlib import Path

import ctbnlearn as cl

HEADINGS = {
    "learn": "Learners",
    "data": "Data",
    "model": "Networks and simulation",
    "inference": "Methods of inference",
    "result": "Results",
    "structure": "Priors, weights and scores",
    "errors": "Errors",
}
MODULES = {
    "plot": "Figures",
    "exact": "Exact inference in a known network",
    "variational": "Approximate inference in a known network",
}
ERRORS = ("CtbnlearnError",)


def groups() -> dict[str, list[str]]:
    """Full names of all public objects by heading."""
    found: dict[str, list[str]] = {heading: [] for heading in HEADINGS.values()}
    for name, home in cl._HOME.items():
        heading = HEADINGS.get(home.split(".")[0], "Further names")
        found.setdefault(heading, []).append(f"ctbnlearn.{name}")
    for module, heading in MODULES.items():
        found[heading] = [f"ctbnlearn.{module}.{name}" for name in getattr(cl, module).__all__]
    return {heading: sorted(names, key=str.lower) for heading, names in found.items() if names}


def page() -> str:
    """The page as reStructuredText."""
    parts = ["Public names", "============", "", "All of them are imported with ``import ctbnlearn as cl``.", ""]
    for heading, names in groups().items():
        parts += [
            heading,
            "-" * len(heading),
            "",
            ".. autosummary::",
            "   :toctree: generated",
            "   :nosignatures:",
            "",
        ]
        parts += [f"   {name}" for name in names] + [""]
    return "\n".join(parts)


def write(folder: Path) -> None:
    """Write the page, unless it is there as it should be."""
    target = folder / "api.rst"
    if not target.exists() or target.read_text(encoding="utf-8") != page():
        target.write_text(page(), encoding="utf-8")

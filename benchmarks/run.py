"""Run the benchmarks: `make bench` for all, or `python benchmarks/run.py simulation ...` for some.

Every section writes its table to benchmarks/results/SECTION.md; ratios compare figures of one run on one machine.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SECTIONS = (
    "complete_data",
    "simulation",
    "exact_inference",
    "mixture_weights",
    "sampling",
    "incomplete_data",
    "scale",
    "memory",
)


def main() -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {date.today()}"
    for section in sys.argv[1:] or SECTIONS:
        lines = ["| what | measured | ratio | against |", "|---|---|---|---|"]
        print(f"\n{section}\n" + "\n".join(lines), flush=True)
        for row in importlib.import_module(section).rows():
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
        target = HERE / "results" / f"{section}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# {section.replace('_', ' ')}\n\n{machine}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

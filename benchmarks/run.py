"""Run all benchmarks and write one table: `make bench`, or `python benchmarks/run.py simulation ...`."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SECTIONS = ("complete_data", "simulation", "exact_inference", "mixture_weights", "incomplete_data")


def main() -> None:
    chosen = sys.argv[1:] or SECTIONS
    lines = ["| what | measured | ratio | against |", "|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for section in chosen:
        for row in importlib.import_module(section).rows():
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if not sys.argv[1:]:
        head = (
            "# Benchmarks\n\nWritten by `make bench`; ratios compare runs of the same session on the same machine "
            f"({platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}), {date.today()}.\n\n"
        )
        (HERE / "RESULTS.md").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

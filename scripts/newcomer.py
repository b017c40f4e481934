"""Play the newcomer: clone the last commit, run what the README says, then the commands of the first tutorial.

    python scripts/newcomer.py FOLDER

Commands are read from the pages, so that a page that is wrong fails. FOLDER must be empty; the report of the tutorial
is left in FOLDER/ctbnlearn/docs/tutorials/clinic. What is not committed is not tried.
"""

from __future__ import annotations

import csv
import os
import random
import re
import shlex
import subprocess
import sys
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {"make test", "ctbnlearn demo"}  # run by CI itself, and by `make demo`


def blocks(page: Path) -> list[list[str]]:
    """Commands of the code blocks of a page; Python is one command."""
    found = []
    for language, code in re.findall(r"(?ms)^```(sh|python)\n(.*?)^```", page.read_text(encoding="utf-8")):
        lines = [f"python -c {shlex.quote(code)}"] if language == "python" else code.splitlines()
        found.append([line for line in lines if line.partition("#")[0].strip() not in {"", *ELSEWHERE}])
    return found


def write_panel(path: Path) -> None:
    """The table that the README's commands are about: smoking brings relapses, and these cost work."""
    rng = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "year", "smoker", "relapse", "working"])
        for unit in range(80):
            state = [rng.random() < 0.5 for _ in range(3)]
            for year in range(8):
                starts = (0.1, 0.5 if state[0] else 0.05, 0.1 if state[1] else 0.5)
                ends = (0.1, 0.1 if state[0] else 0.6, 0.5 if state[1] else 0.1)
                state = [s != (rng.random() < (ends[k] if s else starts[k])) for k, s in enumerate(state)]
                rows.writerow([unit, year, *("" if rng.random() < 0.1 else ("no", "yes")[s] for s in state)])


def main(folder: str) -> int:
    """Play it; the exit code is that of the first command that fails."""
    clone = Path(folder).resolve() / "ctbnlearn"
    left_out = ("GIT_", "MAKE", "VIRTUAL_ENV", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], env=env, check=True)
    write_panel(clone / "panel.csv")
    install, *use = blocks(clone / "README.md")
    props = ["ctbnlearn prepare panel.csv --out folder"]
    tutorial = [["cd docs/tutorials"], *blocks(clone / "docs" / "tutorials" / "clinic.md")]
    script = ["set -eu", """trap '[ $? -eq 0 ] || echo "this failed: $said" >&2' EXIT"""]
    for command in chain(install, props, *use, *tutorial):
        script += [f"said={shlex.quote(command)}", 'echo "[$SECONDS s] $said"', command]
    return subprocess.run(["bash", "-c", "\n".join(script)], cwd=clone, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

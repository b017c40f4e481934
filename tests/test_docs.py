"""Documentation: every public name is in it, code blocks run, and commands have the options they name."""

from __future__ import annotations

import importlib.util
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ctbnlearn as cl

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OWN_SETTING = {"cluster.md", "panel.md"}  # these need a cluster, or data that may not be passed on
RUN = [page for page in PAGES if page.name not in OWN_SETTING and "_build" not in page.parts]


def page_of_names():
    spec = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "api_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def public():
    """Every public object by its full name."""
    found = {f"ctbnlearn.{name}": getattr(cl, name) for name in cl._HOME}
    for module in cl._MODULES:
        home = getattr(cl, module)
        found |= {f"ctbnlearn.{module}.{name}": getattr(home, name) for name in home.__all__}
    return found


def test_every_public_name_is_in_the_reference():
    listed = set(re.findall(r"^   (ctbnlearn\.\S+)$", page_of_names(), re.MULTILINE))
    assert listed == set(public())


@pytest.mark.parametrize("name", sorted(public()))
def test_every_parameter_is_documented(name):
    thing = public()[name]
    text = inspect.getdoc(thing)
    assert text, "there is no docstring"
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    names = [p for p in inspect.signature(thing).parameters if p not in ("args", "kwargs")]
    assert [p for p in names if not re.search(rf"(?m)^(?:\w+, )*{p}\b", text)] == []


def blocks(page: Path) -> str:
    return "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [p for p in RUN if blocks(p)], ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{i},{t},{rng.integers(2)},{rng.integers(2)}" for i in range(12) for t in range(6)]
    Path("panel.csv").write_text("\n".join(["id,year,rain,growth", *rows]))
    exec(compile(blocks(page), str(page), "exec"), {"__name__": "page"})


def commands():
    for page in PAGES:
        for block in re.findall(r"(?ms)^```sh\n(.*?)^```", page.read_text(encoding="utf-8")):
            yield from (line for line in block.splitlines() if line.startswith("ctbnlearn "))


def test_commands_have_the_options_they_name():
    from typer.main import get_command

    from ctbnlearn.cli.app import app

    known = get_command(app).commands
    seen = 0
    for line in commands():
        _, name, *words = shlex.split(line, comments=True)
        options = {flag for parameter in known[name].params for flag in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line
        seen += 1
    assert seen > 8


@pytest.mark.parametrize("wrong", ["README.md", "docs/tutorials/clinic.md"])
def test_a_wrong_command_stops_the_newcomer(wrong, tmp_path):
    home = tmp_path / "home"
    (home / "docs" / "tutorials").mkdir(parents=True)
    (home / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "newcomer.py", home / "scripts")
    (home / "README.md").write_text("```sh\nctbnlearn() { echo; }  # the install\n```\n```python\nprint(1 + 1)\n```\n")
    (home / "docs" / "tutorials" / "clinic.md").write_text("```sh\nctbnlearn learn  # fine\n```\n")
    with (home / wrong).open("a") as page:
        page.write("```sh\ntrue\nctbnlearm learn  # a slip\ntouch too-far\n```\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", home]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "pages"]):
        subprocess.run([*git, *words], check=True)
    script = [sys.executable, home / "scripts" / "newcomer.py", tmp_path / "new"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "this failed: ctbnlearm learn  # a slip" in done.stderr
    assert not list(tmp_path.rglob("too-far"))
    assert ("cd docs/tutorials" in done.stdout) == (wrong != "README.md")

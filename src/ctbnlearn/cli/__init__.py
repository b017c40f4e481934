"""The command line: parse, call, print. Nothing heavy is imported before a command runs.

Exit codes: 0 fine, 2 wrong use or bad input (one line on stderr), 3 not converged but written, 130 interrupted (a
checkpoint, if asked for, is left), and 1 for what should not happen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

PROGRAM = "ctbnlearn"
INTERRUPTED = 130


class Interrupted(Exception):
    """Ctrl-C, where something can be said about it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    argv
        Arguments without the program's name; default those of the process.
    """
    import typer

    from ctbnlearn.cli.app import app
    from ctbnlearn.errors import CtbnlearnError
    from ctbnlearn.interface import command_line

    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"] or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # labels may hold letters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        with command_line():
            code = typer.main.get_command(app).main(arguments, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return _interrupted() if code == INTERRUPTED else int(code or 0)  # some versions of typer catch Ctrl-C
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Interrupted as stop:
        return _fail(str(stop), INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as problem:
        if debug:
            raise
        if hasattr(problem, "format_message"):  # wrong use, found by the parser
            return _fail(f"{problem.format_message().rstrip('.')}; see `{PROGRAM} --help`", 2)
        if isinstance(problem, CtbnlearnError):
            return _fail(str(problem), 2)
        if isinstance(problem, MemoryError):
            return _fail("there is not enough memory for this; lower max_parents, or give fewer variables or rows", 1)
        kind = type(problem).__name__
        return _fail(f"something went wrong inside ({kind}: {problem}); run it again with --debug to see where", 1)


def _interrupted() -> int:
    return _fail("interrupted; nothing was written", INTERRUPTED)


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {' '.join(message.split())}\n")
    return code

"""Commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="ctbnlearn",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

OUT = typer.Option("--out", "-o", metavar="DIR", help="Folder for the result; a result that is there is replaced.")
QUIET = typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")
JSON = typer.Option("--json", help="Print one JSON object and nothing else.")
SEED = typer.Option("--seed", min=0, help="Seed of the random numbers. Default: learn always uses the same.")
NOISE = typer.Option(
    "--noise",
    metavar="[VARIABLE=]MODEL",
    help="How values were measured (default: labels, seen exactly): "
    "gaussian:VARIANCE[:VALUE,VALUE,...] (one value a state), labels:ERROR, or "
    "threshold[:MEAN:SD] and log-threshold[:MEAN:SD] (two states: under, over). Learned: levels:N or log-levels:N "
    "(N levels of a number, or auto), poisson:N (of a count), labels. May be repeated; without a variable it holds for "
    "all.",
)
LEVELS = typer.Option(
    "--levels", metavar="VARIABLE=N", help="Learn N levels (or auto: 2 to 4) of a measured column. May be repeated."
)
CUT = typer.Option(
    "--cut",
    metavar="VARIABLE=A,B",
    help="Cut a measured column into states: under A, A to B, B and over. May be repeated.",
)
ORDERED = typer.Option(
    "--ordered",
    metavar="VARIABLE=A,B,C",
    help="States of a variable in their order. May be repeated. Default: numbers by size; words have no order.",
)
TIME_UNIT = typer.Option(
    "--time-unit",
    metavar="UNIT",
    help="seconds, minutes, hours, days, weeks, months or years: what dates are counted in, or what numbers mean. "
    "Default: chosen by the span of the dates; for numbers none.",
)
TRAJECTORY = typer.Option(help="Column that names the trajectory of a row. Default: guessed from common names.")
TIME = typer.Option(
    help="Column of times, numbers or dates (2024-03-31, 2024-03-31T14:30). Default: guessed from common names."
)
VARIABLES = typer.Option(metavar="A,B,C", help="Variables to read. Default: every other column.")
FORMAT = typer.Option(metavar="FORMAT", help="auto, wide, events, pyctbn or pyagrum. Default: auto.")
START = typer.Option(metavar="COLUMN|NUMBER|DATE", help="Start of the trajectories. Default: their first row.")
END = typer.Option(metavar="COLUMN|NUMBER|DATE", help="End of the trajectories. Default: their last row.")
SORT = typer.Option("--sort", help="Sort rows by time. Default: refuse rows that are out of order.")
WORKERS = typer.Option("--workers", metavar="N", min=1, help="Learn in so many processes. Default: in threads.")
DASK = typer.Option(
    "--dask", metavar="ADDRESS", help="Learn on the Dask cluster whose scheduler is there. Default: here."
)
CONFIG = typer.Option(
    metavar="FILE.toml", help="Settings by name, as these options; [learner] has all the others. Default: none."
)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _each(texts: list[str] | None) -> list[str] | None:
    """Names of an option that may be repeated, each time with several of them."""
    return [word for text in texts for word in _words(text) or ()] if texts else None


def _read_as(
    trajectory: str | None,
    time: str | None,
    format: str | None,
    noise: list[str] | None,
    start: str | None,
    end: str | None,
    sort: bool,
) -> dict[str, Any]:
    """Settings of reading that were given, for commands that read data like those of a result."""
    given = {"trajectory": trajectory, "time": time, "format": format, "noise": noise or None}
    return {**given, "start": start, "end": end, "sort": sort or None}


def _version(show: bool) -> None:
    if show:
        from ctbnlearn import __version__

        typer.echo(f"ctbnlearn {__version__}")
        raise typer.Exit


@app.callback(epilog="Add --debug to any command to see where an error came from.")
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Which variable drives which? Learn continuous-time Bayesian networks from tables with holes.

    \b
    ctbnlearn demo                               see it work, in a minute
    ctbnlearn learn panel.csv --check            what was understood of a table
    ctbnlearn learn panel.csv --out result       learn; then open result/report.html
    """


@app.command()
def learn(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV (also .csv.gz, .tsv), Parquet or PyCTBN JSON; a folder or pattern of Parquet files is not read "
            "into memory as a whole.",
        ),
    ],
    out: Annotated[Path | None, OUT] = None,
    trajectory: Annotated[str | None, TRAJECTORY] = None,
    time: Annotated[str | None, TIME] = None,
    variables: Annotated[str | None, VARIABLES] = None,
    format: Annotated[str | None, FORMAT] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="No transition went unseen: rows are jumps. Default: rows are glimpses.")
    ] = False,
    noise: Annotated[list[str] | None, NOISE] = None,
    levels: Annotated[list[str] | None, LEVELS] = None,
    cut: Annotated[list[str] | None, CUT] = None,
    ordered: Annotated[list[str] | None, ORDERED] = None,
    adjacent: Annotated[
        list[str] | None,
        typer.Option(
            "--adjacent", metavar="A,B", help="Variables that move between neighbouring states only. Default: none."
        ),
    ] = None,
    time_unit: Annotated[str | None, TIME_UNIT] = None,
    max_parents: Annotated[
        int | None, typer.Option(min=0, show_default=False, help="Largest number of parents. Default: 2.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Only these edges; columns source, target. Default: all.")
    ] = None,
    forbidden: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Edges that must not be there. Default: none.")
    ] = None,
    required: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Edges that must be there. Default: none.")
    ] = None,
    exogenous: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Variables that nothing drives: no edges into them. Default: those that never change."
        ),
    ] = None,
    adjust_for: Annotated[
        list[str] | None,
        typer.Option(
            "--adjust-for",
            metavar="A,B",
            help="Variables such as sex or centre: parents of all others, not counted in --max-parents. Default: none.",
        ),
    ] = None,
    interventions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="When variables were set from outside; columns trajectory (as in DATA), start, end, variable and, "
            "where known, value. Default: none.",
        ),
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(help="auto, sampling, exact, blocks, star or mean_field: how paths are inferred. Default: auto."),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Sweeps of every chain of sampling at most. Default: as many as take a minute, 200 to 10,000."
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(min=1, help="Rounds of EM at most, with --inference star, exact or mean_field. Default: 50."),
    ] = None,
    bags: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Average edge probabilities over so many draws of the units: sure only if all are. Default: one fit.",
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="ID,ID",
            help="Trajectories drawn in the report, whose data the result then holds. Default: simulated ones.",
        ),
    ] = None,
    start: Annotated[str | None, START] = None,
    end: Annotated[str | None, END] = None,
    sort: Annotated[bool, SORT] = False,
    config: Annotated[Path | None, CONFIG] = None,
    seed: Annotated[int | None, SEED] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the state of every round there, to go on from. Default: not kept."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    workers: Annotated[int | None, WORKERS] = None,
    dask: Annotated[str | None, DASK] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="What all processes may keep, such as 4GB. Default: half of what is free."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="auto, cpu or gpu, for inference other than sampling. Default: auto."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read the data, say what was understood, and stop.")] = False,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Learn a network from a table.

    Rows are wide (trajectory, time, one column a variable; a blank cell was not seen) or events (trajectory, time,
    variable, value). Writes edges.csv, parent_sets.csv, network.json, network.graphml, network.dot, report.html,
    arrays.safetensors and manifest.json.

    \b
    ctbnlearn learn panel.csv --trajectory id --time year --out result
    ctbnlearn learn panel.csv --max-parents 2 --noise signal=gaussian:0.2:-1,1 --out result
    ctbnlearn learn clinic.csv --time visit_date --levels crp=3 --ordered stage=mild,moderate,severe --out result
    ctbnlearn learn paths.json --format pyctbn --out result
    ctbnlearn learn panel.parquet --config study.toml --seed 1 --json --out result
    ctbnlearn learn panel.csv --checkpoint state --resume --out result
    ctbnlearn learn folder --workers 8 --memory 16GB --out result
    """
    from ctbnlearn.cli.learning import run_check, run_learn
    from ctbnlearn.cli.settings import resolve

    given: dict[str, Any] = {
        "trajectory": trajectory,
        "time": time,
        "variables": _words(variables),
        "format": format,
        "complete": complete or None,
        "noise": noise or None,
        "levels": levels or None,
        "cut": cut or None,
        "ordered": ordered or None,
        "adjacent": _each(adjacent),
        "time_unit": time_unit,
        "max_parents": max_parents,
        "candidates": candidates,
        "forbidden": forbidden,
        "required": required,
        "exogenous": _words(exogenous),
        "adjust_for": _each(adjust_for),
        "interventions": interventions,
        "inference": inference,
        "sweeps": sweeps,
        "max_iter": max_iter,
        "bags": bags,
        "start": start,
        "end": end,
        "sort": sort or None,
        "seed": seed,
        "checkpoint": checkpoint,
        "workers": workers,
        "dask": dask,
        "memory": memory,
        "device": device,
    }
    settings = resolve(config, given)
    if resume and "checkpoint" not in settings.learner:
        raise typer.BadParameter("say where the checkpoint is, with --checkpoint.", param_hint="--resume")
    settings.learner["resume"] = resume
    if check:
        return run_check(data, settings, quiet, json)
    if out is None:
        raise typer.BadParameter("say where the result shall go.", param_hint="--out")
    return run_learn(data, settings, out, _words(show), quiet, json)


@app.command()
def prepare(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file, or a folder or pattern of Parquet files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the Parquet files.")],
    trajectory: Annotated[str | None, TRAJECTORY] = None,
    time: Annotated[str | None, TIME] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of a file, about; a trajectory is never cut.")] = 1_000_000,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Bring the rows of every trajectory together, in order of time, in Parquet files that `learn` reads by parts.

    Neither the table nor a trajectory of it needs to be in order, nor to fit into memory as a whole.

    \b
    ctbnlearn prepare panel.csv --trajectory id --time year --out panel
    ctbnlearn learn panel --trajectory id --time year --out result
    """
    from ctbnlearn.cli.preparing import run_prepare

    return run_prepare(data, out, trajectory, time, rows, quiet)


@app.command()
def smooth(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that `learn` wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet of the same variables.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="CSV or Parquet; default: print as CSV.")
    ] = None,
    times: Annotated[str | None, typer.Option(metavar="T,T,...", help="Times common to all trajectories.")] = None,
    points: Annotated[int, typer.Option(min=2, help="Without --times: evenly spaced times a trajectory.")] = 50,
    trajectory: Annotated[str | None, TRAJECTORY] = None,
    time: Annotated[str | None, TIME] = None,
    format: Annotated[str | None, FORMAT] = None,
    noise: Annotated[list[str] | None, NOISE] = None,
    start: Annotated[str | None, START] = None,
    end: Annotated[str | None, END] = None,
    sort: Annotated[bool, SORT] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Probabilities of the states in between the observations, under a learned network.

    Columns are read as they were when the result was learned, unless said otherwise.

    \b
    ctbnlearn smooth result panel.csv --times 0,0.5,1 --out states.csv
    """
    from ctbnlearn.cli.smoothing import run_smooth

    given = _read_as(trajectory, time, format, noise, start, end, sort)
    return run_smooth(result, data, given, times, points, out, quiet)


FOLDS = typer.Option("--folds", min=2, help="Folds of units that are held out in turn.")


@app.command()
def check(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that `learn` wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet of the same variables.")],
    folds: Annotated[int, FOLDS] = 5,
    trajectory: Annotated[str | None, TRAJECTORY] = None,
    time: Annotated[str | None, TIME] = None,
    format: Annotated[str | None, FORMAT] = None,
    noise: Annotated[list[str] | None, NOISE] = None,
    start: Annotated[str | None, START] = None,
    end: Annotated[str | None, END] = None,
    sort: Annotated[bool, SORT] = False,
    seed: Annotated[int, SEED] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes side by side.")] = 1,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Does the model fit? Predict units held out, with the edges and without.

    Learns again without some of the units, with the settings of the result, and predicts each of their values from the
    earlier ones. Says by how much the edges help, compares moves predicted and seen, and puts it all into the result
    and its report. Observation models are taken as learned from all units.

    \b
    ctbnlearn check result panel.csv
    """
    from ctbnlearn.cli.model_check import run_model_check

    given = _read_as(trajectory, time, format, noise, start, end, sort)
    return run_model_check(result, data, given, folds, seed, jobs, quiet, json)


@app.command()
def risk(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that `learn` wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet of the same variables.")],
    state: Annotated[
        list[str],
        typer.Option(
            "--state",
            metavar="VARIABLE=STATE,STATE",
            help="What is to be reached: any of the states. Repeated for other variables, all must hold at once.",
        ),
    ],
    within: Annotated[str, typer.Option("--within", metavar="T,T,...", help="In which time, or times.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="CSV or Parquet; default: print as CSV.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            help="Instead tell how good such risks are, of units held out in folds: AUC and Brier score.",
        ),
    ] = None,
    trajectory: Annotated[str | None, TRAJECTORY] = None,
    time: Annotated[str | None, TIME] = None,
    format: Annotated[str | None, FORMAT] = None,
    noise: Annotated[list[str] | None, NOISE] = None,
    start: Annotated[str | None, START] = None,
    end: Annotated[str | None, END] = None,
    sort: Annotated[bool, SORT] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Probability that each trajectory reaches a state within a time after its end, given what was seen of it.

    \b
    ctbnlearn risk result panel.csv --state relapse=yes --within 1 --out risks.csv
    ctbnlearn risk result panel.csv --state stage=moderate,severe --within 0.5,1 --folds 5
    """
    from ctbnlearn.cli.risks import run_risk

    given = _read_as(trajectory, time, format, noise, start, end, sort)
    return run_risk(result, data, given, state, within, folds, out, quiet)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Table to write: .csv or .parquet.")],
    network: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Network to simulate; default: a random one.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Variables of a random network.")] = 5,
    max_parents: Annotated[int, typer.Option(min=0, help="Its largest number of parents.")] = 2,
    coupling: Annotated[float, typer.Option(help="Its strength (Glauber dynamics).")] = 0.6,
    trajectories: Annotated[int, typer.Option(min=1, help="Number of trajectories.")] = 40,
    transitions: Annotated[int | None, typer.Option(min=1, help="End each at this jump; default 10.")] = None,
    horizon: Annotated[float | None, typer.Option(help="Instead: end each at this time.")] = None,
    observations: Annotated[
        int, typer.Option(min=0, help="Random times of observation a trajectory; 0: every transition.")
    ] = 10,
    noise: Annotated[list[str] | None, NOISE] = None,
    missing: Annotated[float, typer.Option(min=0, max=1, help="Share of the cells left blank.")] = 0.0,
    seed: Annotated[int | None, SEED] = None,
    truth: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Write the simulated network there.")] = None,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Draw data from a network: complete paths, or noisy glimpses of them.

    \b
    ctbnlearn simulate --nodes 6 --trajectories 100 --seed 1 --truth truth.json --out data.csv
    ctbnlearn simulate --network truth.json --noise gaussian:0.2 --missing 0.1 --out noisy.parquet
    """
    from ctbnlearn.cli.simulation import run_simulate

    drawn = {"n_nodes": nodes, "max_parents": max_parents, "coupling": coupling}
    length = {"n_transitions": 10 if transitions is None and horizon is None else transitions, "horizon": horizon}
    seen = {"n_times": observations, "noise": noise or [], "missing": missing}
    return run_simulate(network, drawn, trajectories, length, seen, seed, out, truth, quiet)


@app.command()
def demo(
    out: Annotated[Path, OUT] = Path("ctbnlearn-demo"),
    seed: Annotated[int, SEED] = 4,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Simulate a network, look at it now and then through noise, and learn it back."""
    from ctbnlearn.cli.simulation import run_demo

    return run_demo(out, seed, quiet, json)


@app.command()
def experiment(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="complete, bound, incomplete, initial, scaling, concentration, restricted, consistency, grid, "
            "cluster, irma or panel.",
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A small version that ends within a minute.")] = False,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Measured data; irma and panel need them.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder; default: ctbnlearn-NAME.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes side by side; timed ones run alone.")] = 1,
    peers: Annotated[bool, typer.Option("--peers", help="Run other packages beside ours (complete, scaling).")] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Repeat a figure or table of the paper.

    Leaves the numbers (CSV), a figure (PNG, SVG) and a comparison with what the paper reports (Markdown) in the folder.
    What is finished is kept there: a run that was stopped goes on where it was.

    \b
    ctbnlearn experiment complete --quick
    ctbnlearn experiment incomplete --jobs 2 --out fig2
    ctbnlearn experiment panel --data panel.csv
    """
    from ctbnlearn.cli.experimenting import run_experiment

    return run_experiment(name, quick, data, out, jobs, peers, quiet)


@app.command()
def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that `learn` wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="Default: report.html in the folder.")
    ] = None,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Rewrite the report of a result: one page that needs nothing else.

    \b
    ctbnlearn report result --out friday.html
    """
    from ctbnlearn.cli.showing import run_report

    return run_report(result, out, quiet)


@app.command()
def info(
    result: Annotated[Path | None, typer.Argument(metavar="[RESULT]", help="Folder that `learn` wrote.")] = None,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Remove compiled programs kept.")] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Versions, device and cache; or, of a result, where it comes from and what it found."""
    from ctbnlearn.cli.showing import run_info

    return run_info(result, clear_cache, json)

"""Write clinic.csv: a made-up clinic of 120 patients, for the tutorial. Nothing in it was measured.

Smoking drives inflammation, inflammation the stage of the disease, the stage pain and treatment, and treatment lowers
inflammation. Inflammation is never seen, only a blood value, CRP. Patients come at irregular dates; a fifth of the
cells is blank.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

import ctbnlearn as cl

PATIENTS, YEARS = 120, 4.0
CRP = {"low": 2.0, "high": 20.0}  # typical values, in mg/l


def network() -> cl.CTBN:
    """The clinic, with rates per year."""

    def two(up: float, down: float) -> list[list[float]]:
        return [[-up, up], [down, -down]]

    def three(up: float, down: float) -> list[list[float]]:
        return [[-up, up, 0], [down, -down - up, up], [0, down, -down]]

    return cl.CTBN(
        [
            cl.Variable("smoker", ("no", "yes")),
            cl.Variable("inflammation", ("low", "high"), ordered=True),
            cl.Variable("stage", ("mild", "moderate", "severe"), ordered=True),
            cl.Variable("treated", ("no", "yes")),
            cl.Variable("pain", ("no", "yes")),
        ],
        {"inflammation": ["smoker", "treated"], "stage": ["inflammation"], "treated": ["stage"], "pain": ["stage"]},
        {
            "smoker": two(0.15, 0.25),
            "inflammation": [[two(0.5, 1.5), two(0.3, 5.0)], [two(3.0, 0.6), two(0.8, 2.5)]],
            "stage": [three(0.2, 1.6), three(2.0, 0.2)],
            "treated": [two(0.1, 2.0), two(0.5, 0.8), two(3.0, 0.2)],
            "pain": [two(0.4, 3.0), two(1.5, 1.5), two(4.0, 0.5)],
        },
    )


def main() -> None:
    """Simulate, look now and then, and write the table."""
    rng = np.random.default_rng(7)
    paths = cl.simulate(network(), PATIENTS, horizon=YEARS, rng=1)
    seen = cl.observe(paths, n_times=14, missing=0.2, rng=2)
    rows = []
    for patient in range(PATIENTS):
        first = date(2018, 1, 1) + timedelta(days=int(rng.integers(0, 1400)))
        visits: dict[float, dict[str, str]] = {}
        for variable, series in zip(seen.variables, seen.series):
            mine = slice(series.offsets[patient], series.offsets[patient + 1])
            for time, code in zip(series.times[mine], series.values[mine]):
                state = str(variable.states[int(code)])
                if variable.name == "inflammation":
                    state = f"{CRP[state] * np.exp(rng.normal(0, 0.4)):.1f}"
                visits.setdefault(float(time), {})[variable.name] = state
        days = sorted({round(365.25 * time): visits[time] for time in sorted(visits)}.items())
        for day, values in days:
            cells = [values.get(name, "") for name in ("smoker", "inflammation", "stage", "treated", "pain")]
            rows.append([f"P{patient:03d}", (first + timedelta(days=day)).isoformat(), *cells])
    with open(Path(__file__).parent / "clinic.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["patient_id", "visit_date", "smoker", "crp", "stage", "treated", "pain"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()

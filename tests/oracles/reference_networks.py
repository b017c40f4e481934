"""Readers of the reference networks' own JSON layouts."""

from __future__ import annotations

import json

import numpy as np

import ctbnlearn as cl


def load_drug(folder):
    """Nodelman's drug network: 8 variables with 2 or 3 states."""
    content = json.loads((folder / "networks" / "drug.json").read_text())
    entries = content["variables"]
    card = {e["name"]: e["cardinality"] for e in entries}
    rates = {}
    for e in entries:
        cim = np.empty([*(card[p] for p in e["parents"]), card[e["name"]], card[e["name"]]])
        for block in e["cims"]:
            cim[tuple(block["parents"][p] for p in e["parents"])] = block["Q"]
        rates[e["name"]] = cim
    return cl.CTBN(
        {name: tuple(range(c)) for name, c in card.items()},
        {e["name"]: e["parents"] for e in entries},
        rates,
        {e["name"]: e["initial"] for e in entries},
    )


def load_eating(folder):
    """A three-node cycle in causal-hub's layout."""
    content = json.loads((folder / "networks" / "eating_causalhub.json").read_text())
    variables, parents, rates = {}, {}, {}
    for cim in content["cims"]:
        ((name, states),) = cim["states"].items()
        variables[name] = tuple(states)
        parents[name] = list(cim["conditioning_states"])
        rates[name] = cim["parameters"]
    return cl.CTBN(variables, parents, rates)


def load_query(folder):
    """A model, one partly observed trajectory as Segments, and the answers of another program."""
    content = json.loads((folder / "networks" / "ctbnrle_query.json").read_text())
    m = content["model"]
    net = cl.CTBN(
        {"X": (0, 1), "Y": (0, 1), "Z": (0, 1, 2)},
        {"Y": ["X"]},
        {"X": m["QX"], "Y": m["QY_given_X"], "Z": m["QZ"]},
        {"X": m["p0"]["X"], "Y": (["X"], m["p0"]["Y_given_X"]), "Z": m["p0"]["Z"]},
    )
    rows = []
    for name, entries in content["evidence"].items():
        ends = [t for t, _ in entries[1:]] + [content["t_end"]]
        rows += [(0, name, t, end, s) for (t, s), end in zip(entries, ends) if s >= 0]
    return net, cl.Segments.from_rows(net.variables, rows, end=content["t_end"]), content["queries"]

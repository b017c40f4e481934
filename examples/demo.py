"""Simulate a network, learn it back from its trajectories, and print what was found against the truth."""

from __future__ import annotations

import time

import ctbnlearn as cl


def main() -> None:
    network = cl.random_network(n_nodes=6, max_parents=2, coupling=0.6, rng=4)
    paths = cl.simulate(network, n_trajectories=100, n_transitions=10, rng=1)
    print(f"Simulated {paths.n_trajectories} trajectories of {len(paths.variables)} variables:")
    print(f"{paths.n_transitions} transitions, {(paths.end - paths.start).sum():.0f} units of time in all.\n")

    start = time.perf_counter()
    learner = cl.StructureLearner(max_parents=2).fit(paths)
    elapsed = time.perf_counter() - start
    n_sets = sum(map(len, learner.parent_sets_))
    print(f"Weighed all {n_sets} parent sets in {elapsed * 1e3:.0f} ms.\n")

    print("  source -> target   probability   truth")
    truth = set(network.edges)
    names = network.names
    pairs = [(s, t) for s in range(len(names)) for t in range(len(names)) if s != t]
    for s, t in sorted(pairs, key=lambda e: -learner.edge_probabilities_[e]):
        p = learner.edge_probabilities_[s, t]
        real = (names[s], names[t]) in truth
        if p > 0.05 or real:
            mark = "edge" if real else "no edge"
            print(f"  {names[s]:>6} -> {names[t]:<6}   {p:10.3f}   {mark}")
    found = cl.edge_scores(network, learner.edge_probabilities_)
    print(f"\nAUROC {found['auroc']:.3f}, AUPR {found['aupr']:.3f}, wrong edges at 0.5: {found['shd']:.0f}")


if __name__ == "__main__":
    main()

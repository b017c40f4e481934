"""Simulate a network, learn it back from complete paths and from noisy glimpses, and print both against the truth."""

from __future__ import annotations

import time

import ctbnlearn as cl


def main() -> None:
    network = cl.random_network(n_nodes=6, max_parents=2, coupling=0.6, rng=4)
    paths = cl.simulate(network, n_trajectories=100, n_transitions=10, rng=1)
    print(f"Simulated {paths.n_trajectories} trajectories of {len(paths.variables)} variables:")
    print(f"{paths.n_transitions} transitions, {(paths.end - paths.start).sum():.0f} units of time in all.\n")

    print("Learning from the complete paths ...")
    whole = timed(cl.StructureLearner(max_parents=2), paths)
    obs = cl.observe(paths, n_times=10, noise=cl.GaussianNoise(variance=0.2), missing=0.1, rng=2)
    print(f"Learning from {obs.n_values} noisy values at random times (the first run also compiles) ...")
    glimpses = timed(cl.StructureLearner(max_parents=2), obs)

    print("\n  source -> target   complete   glimpses   truth")
    truth = set(network.edges)
    names = network.names
    pairs = [(s, t) for s in range(len(names)) for t in range(len(names)) if s != t]
    for s, t in sorted(pairs, key=lambda e: -whole.edge_probabilities_[e]):
        p, q = whole.edge_probabilities_[s, t], glimpses.edge_probabilities_[s, t]
        real = (names[s], names[t]) in truth
        if max(p, q) > 0.1 or real:
            print(f"  {names[s]:>6} -> {names[t]:<6}   {p:8.3f}   {q:8.3f}   {'edge' if real else 'no edge'}")
    for title, learner in (("complete paths", whole), ("noisy glimpses", glimpses)):
        found = cl.edge_scores(network, learner.edge_probabilities_)
        print(
            f"\n{title}: AUROC {found['auroc']:.3f}, AUPR {found['aupr']:.3f}, wrong edges at 0.5: {found['shd']:.0f}",
            end="",
        )
    print()


def timed(learner: cl.StructureLearner, data: cl.Paths | cl.Observations) -> cl.StructureLearner:
    start = time.perf_counter()
    learner.fit(data)
    n_sets = sum(map(len, learner.parent_sets_))
    print(f"  weighed {n_sets} parent sets in {time.perf_counter() - start:.1f} s")
    return learner


if __name__ == "__main__":
    main()

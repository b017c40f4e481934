"""A forked child of a process that used jax is told so at once; it does not wait forever."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import multiprocessing, sys, warnings
import ctbnlearn as cl
net = cl.random_network(3, rng=1)
obs = cl.observe(cl.simulate(net, 8, n_transitions=6, rng=2), n_times=4, rng=3)

def learn(method):
    warnings.simplefilter("ignore")
    return cl.StructureLearner(2, inference=method).fit(obs).edge_probabilities_

def child(method):
    try:
        learn(method)
        print("learned")
    except cl.CtbnlearnError as problem:
        print(problem)

warnings.simplefilter("ignore")
for method in (cl.Star(max_iter=1), cl.Sampling(sweeps=3)):
    learn(method)
    process = multiprocessing.get_context("fork").Process(target=child, args=(method,))
    process.start()
    process.join(60)
    print(process.exitcode)
    process.kill()
"""


def test_a_forked_child_works_or_says_what_to_do():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=200)
    refused, code, learned, second = run.stdout.splitlines()
    assert 'get_context("spawn")' in refused, run.stderr
    assert (code, learned, second) == ("0", "learned", "0")

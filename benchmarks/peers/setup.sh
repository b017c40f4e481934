#!/bin/sh
# Make benchmarks/peers/.venv with the peers in it. PyCTBN has no package in the registry: set PYCTBN to a release
# archive or source folder of it to have it too. A peer that is missing is reported by run_peers.py, not here.
set -eu
cd "$(dirname "$0")"
"${PYTHON:-python3}" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
[ -z "${PYCTBN:-}" ] || .venv/bin/python -m pip install --quiet --disable-pip-version-check "$PYCTBN"

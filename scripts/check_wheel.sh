#!/usr/bin/env bash
# Build sdist and wheel, install the wheel alone in a new environment, and learn a network with it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${PYTHON:-python3} -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check build hatchling
rm -rf dist
"$work/venv/bin/python" -m build --no-isolation --outdir dist .
${PYTHON:-python3} -m venv "$work/clean"
"$work/clean/bin/python" -m pip install --quiet --disable-pip-version-check dist/*.whl
cd "$work"
clean/bin/ctbnlearn simulate --nodes 4 --trajectories 30 --seed 1 --out data.csv
clean/bin/ctbnlearn learn data.csv --sweeps 20 --quiet --out result || [ $? -eq 3 ]
test -s result/report.html
clean/bin/python -c "import ctbnlearn as cl; print(cl.__version__, cl.load_result('result'))"

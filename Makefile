# One environment, made on first use. Needs only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: venv demo test test-all lint bench clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

demo: venv
	$(BIN)/python examples/demo.py

test: venv
	$(BIN)/python -m pytest -n 2

test-all: venv
	$(BIN)/python -m pytest -n 2 -m "slow or not slow"

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: venv benchmarks/peers/.venv
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# rivals for the benchmarks, in an environment of their own; without them the benchmarks run all the same
benchmarks/peers/.venv:
	-PYTHON=$(PYTHON) benchmarks/peers/setup.sh

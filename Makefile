# One environment, made on first use. Needs only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: venv demo test test-all test-browser chromium newcomer lint docs bench clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

# the demo needs the package alone; what it installs is left as it is by `venv`
demo:
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@[ -x $(BIN)/ctbnlearn ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/ctbnlearn demo --out ctbnlearn-demo

test: venv
	$(BIN)/python -m pytest -n 2

test-all: venv
	$(BIN)/python -m pytest -n 2 -m "not browser and not newcomer"

# the report page in Chromium
test-browser: venv chromium
	$(BIN)/python -m pytest -m browser tests/browser

# a fresh clone of the last commit, the README's commands, and the first tutorial's up to its report in Chromium
newcomer: venv chromium
	$(BIN)/python -m pytest -s -m newcomer tests/browser

# Debian's, which is installed where it is missing and we may
chromium:
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium chromium-driver; } || \
	  echo "chromium and chromedriver are missing and could not be installed"

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the documentation, as docs/_build/html; tutorials run while it is built, and a warning is an error
docs: $(STAMP)-docs
	rm -rf docs/_build docs/figures docs/reference/generated
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

$(STAMP)-docs: pyproject.toml | venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $(STAMP)-docs

bench: venv benchmarks/peers/.venv
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# rivals for the benchmarks, in an environment of their own; without them the benchmarks run all the same
benchmarks/peers/.venv:
	-PYTHON=$(PYTHON) benchmarks/peers/setup.sh

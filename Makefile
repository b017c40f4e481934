# One environment, made on first use. Needs only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: venv demo test test-all test-browser lint bench clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

demo: venv
	$(BIN)/ctbnlearn demo --out ctbnlearn-demo

test: venv
	$(BIN)/python -m pytest -n 2

test-all: venv
	$(BIN)/python -m pytest -n 2 -m "not browser"

# the report page in Debian's Chromium, which is installed where it is missing and we may
test-browser: venv
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium chromium-driver; } || \
	  echo "chromium and chromedriver are missing and could not be installed"
	$(BIN)/python -m pytest -m browser tests/browser

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

# make demo   cluster the bundled data, results in ./mkclust-demo
# make test   the test suite            (make test ARGS="-k overlap")
# make lint   style and types
# make docs   these pages, into docs/_build/html
# make bench  speed as ratios measured in one run, into benchmarks/RESULTS.md
# make clean  remove what the above made
#
# Each sets itself up: an environment in .venv, once, and again when pyproject.toml changes.
# It needs Python 3.11 or later; PYTHON=/path/to/python chooses one.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test lint docs bench clean
.NOTPARALLEL:

help:
	@sed -n 's/^# make/make/p' Makefile

demo: $(VENV)/installed
	$(BIN)/mkclust demo

# One BLAS thread in each worker, or the workers fight over the cores.
test: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -q -a -E -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python benchmarks/speed.py $(ARGS)

clean:
	rm -rf $(VENV) mkclust-demo docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust into $(VENV) ..."
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and its development tools into $(VENV) ..."
	$(PIP) --editable '.[dev]'
	@touch $(VENV)/installed $@

$(VENV)/installed-docs: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and what its pages are made with into $(VENV) ..."
	$(PIP) --editable '.[docs]'
	@touch $(VENV)/installed $@

$(BIN)/python:
	@set -e; \
	for python in $(or $(PYTHON),python3.11 python3 python3.14 python3.13 python3.12 python); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	  python=; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "mkclust needs Python 3.11 or later, and $(or $(PYTHON),python3) is not;" >&2; \
	  echo "install one, or name it: make PYTHON=/path/to/python ..." >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python cannot make a virtual environment (no venv or ensurepip);" >&2; \
	  echo "on Debian or Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version) ..."; \
	"$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

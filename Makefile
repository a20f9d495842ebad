# make demo   cluster the bundled data, results in ./mkclust-demo
# make test   the test suite            (make test ARGS="-k overlap"; ARGS="-m slow" for the slow ones)
# make test-oldest  the same with the oldest versions that pyproject.toml allows
# make coverage  the tests once more, with the branches they leave out
# make mutants   faults put into the stages of the model, and whether the tests notice
# make fuzz   damaged files of every format, ten minutes (make fuzz ARGS="--seconds 60 npz csv")
# make lint   style, types and import direction
# make docs   these pages, into docs/_build/html
# make paper  the paper's experiments; make leaderboard  the families; make bench  speed and scale
# make dist   wheel and sdist into dist/, reproducible, tested where they are installed
# make audit  known vulnerabilities and licences of what mkclust needs
# make clean  remove what the above made
#
# Each sets itself up: an environment in .venv (the oldest versions: .venv-oldest), once, and again
# when pyproject.toml changes.
# It needs Python 3.11 or later; PYTHON=/path/to/python chooses one.

VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
PEERS := .venv-peers
FAMILIES := multiview omics kernels missing large
INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := $(BIN)/python $(INSTALL)
WORKERS := -n auto --maxprocesses 4 --dist worksteal
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test lint docs bench paper leaderboard clean test-oldest dist audit coverage mutants fuzz
.NOTPARALLEL:

help:
	@sed -n 's/^# make/make/p' Makefile

demo: $(VENV)/installed
	@$(BIN)/mkclust demo

# One BLAS thread in each worker, or the workers fight over the cores.
test: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) $(or $(ARGS),-m "not slow")

test-oldest: $(OLDEST)/installed
	$(ONE_THREAD) MKCLUST_OLDEST=1 $(OLDEST)/bin/python -m pytest $(WORKERS) $(ARGS)

coverage: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) --cov $(ARGS)

# In ./mutants, where it goes on from what is known: make clean before a last count.
mutants: $(VENV)/installed-mutation
	$(ONE_THREAD) $(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

fuzz: $(VENV)/installed-fuzz
	$(ONE_THREAD) $(BIN)/python fuzz/run.py $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -q -a -E -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Results go to benchmarks/results.csv, where a second run continues. Packages of others run in an
# environment of their own, because they need other versions.
paper: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks run paper-table2 $(ARGS)

leaderboard: $(VENV)/installed-dev $(PEERS)/installed
	for family in $(FAMILIES); do \
	  $(ONE_THREAD) $(BIN)/python -m benchmarks run $$family --methods own $(ARGS) && \
	  $(ONE_THREAD) $(PEERS)/bin/python -m benchmarks run $$family --methods peers $(ARGS) || exit 1; \
	done

bench: $(VENV)/installed-dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks.speed
	$(ONE_THREAD) $(BIN)/python -m benchmarks.scale $(ARGS)

dist: $(VENV)/installed-release
	$(BIN)/python tools/dist.py $(ARGS)

audit: $(VENV)/installed-release
	$(BIN)/python tools/audit.py

clean:
	rm -rf $(VENV) $(OLDEST) $(PEERS) mkclust-demo docs/_build docs/gallery build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis mutants .coverage* fuzz/found
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and its development tools into $(VENV) ..."
	$(PIP) --editable . --group dev
	@touch $(VENV)/installed $@

$(VENV)/installed-mutation: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and what mutants are made with into $(VENV) ..."
	$(PIP) --editable . --group mutation
	@touch $(VENV)/installed $(VENV)/installed-dev $@

$(VENV)/installed-fuzz: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and what its readers are fuzzed with into $(VENV) ..."
	$(PIP) --editable . --group fuzz
	@touch $(VENV)/installed $@

$(VENV)/installed-docs: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and what its pages are made with into $(VENV) ..."
	$(PIP) --editable . --group docs
	@touch $(VENV)/installed $@

$(VENV)/installed-release: pyproject.toml | $(BIN)/python
	@echo "Installing mkclust and what releases are made with into $(VENV) ..."
	$(PIP) --editable . --group release
	@touch $(VENV)/installed $(VENV)/installed-dev $@

$(OLDEST)/installed: pyproject.toml tools/bounds.py | $(OLDEST)/bin/python
	@echo "Installing mkclust with the oldest versions of what it needs into $(OLDEST) ..."
	$(OLDEST)/bin/python tools/bounds.py > $(OLDEST)/bounds.txt
	$(OLDEST)/bin/python $(INSTALL) --constraint $(OLDEST)/bounds.txt --editable '.[omics]' --group test
	@touch $@

$(PEERS)/installed: pyproject.toml | $(PEERS)/bin/python
	@echo "Installing mkclust and the packages it is compared with into $(PEERS) ..."
	$(PEERS)/bin/python $(INSTALL) --editable . --group peers
	$(PEERS)/bin/python $(INSTALL) --no-deps 'mvlearn>=0.5' # its bound on matplotlib is for plots alone
	@touch $@

$(BIN)/python $(OLDEST)/bin/python $(PEERS)/bin/python:
	@set -e; \
	venv=$(patsubst %/bin/python,%,$@); \
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
	echo "Making $$venv with $$("$$python" --version) ..."; \
	"$$python" -m venv --clear $$venv || { rm -rf $$venv; exit 1; }; \
	$$venv/bin/python $(INSTALL) --upgrade 'pip>=25.1'

# Every target sets up what it needs, once: a virtual environment in .venv, the package with its C engine, dependencies.
# PYTHON=python3.12 picks another interpreter; without a C compiler the Python engine is used, and says so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
WORKERS ?= auto
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

SOURCES := setup.py pyproject.toml $(wildcard src/micrograd/native/*.c src/micrograd/native/*.h)
MADE := $(VENV)/.made-with-$(VERSION)
CORE := $(VENV)/.package
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test lint bench bench-eager accuracy sanitize ops setup clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(CORE)  ## train a small network and look at the result
	$(BIN)/python -m micrograd demo

test: $(DEV) lint  ## ruff, mypy and all tests
	$(BIN)/python -m pytest -n $(WORKERS) -q
	@echo "make test: all passed"

lint: $(DEV)  ## ruff and mypy alone
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(DEV) $(PEERS)/.all  ## time compiled functions beside hand-written C and the peers; writes benchmarks/results
	$(BIN)/python benchmarks/compiled.py --peers $(PEERS)

bench-eager: $(DEV) $(PEERS)/.ready  ## time the engine beside floats and micrograd 0.1.0; fails when a figure falls short
	$(BIN)/python benchmarks/eager.py --peer $(PEERS)/bin/python

accuracy: $(DEV)  ## measure every op against mpmath at 50 digits, and write docs/accuracy*.md
	$(BIN)/python tools/accuracy.py
	$(BIN)/python tools/accuracy_compiled.py

sanitize: $(DEV)  ## run the engine's tests on a C engine built with AddressSanitizer and UndefinedBehaviorSanitizer
	$(BIN)/python tools/sanitize.py

ops: $(DEV)  ## write ops.h and ops.js from ops.py, and optim_rules.h from optim/rules.py, and build the C engine anew
	$(BIN)/python tools/gen_ops_h.py
	$(BIN)/python tools/gen_ops_js.py
	$(BIN)/python tools/gen_optim_h.py
	$(BIN)/python setup.py --quiet build_ext --inplace

setup: $(DEV)  ## the environment for development, and nothing else

clean:  ## remove what these targets made
	rm -rf $(VENV) $(PEERS) build dist demo-output src/*.egg-info src/micrograd/*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- what the targets need

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit("micrograd needs Python 3.10 or newer, and $(PYTHON) is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2] if sys.version_info < (3, 10) else 0)'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "setuptools>=77" wheel
	@touch $@

$(CORE): $(MADE) $(SOURCES)
	rm -f src/micrograd/_engine*.so
	$(PIP) install --no-build-isolation --editable ".[jit,train]"
	@touch $@

$(DEV): $(CORE)
	$(PIP) install --no-build-isolation --editable ".[dev]"
	@touch $@

$(PEERS)/.ready:
	rm -rf $(PEERS)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install micrograd==0.1.0
	@touch $@

$(PEERS)/.all: $(PEERS)/.ready benchmarks/peers/requirements.txt
	for peer in $$(grep -v '^#' benchmarks/peers/requirements.txt); do \
		$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install "$$peer" || echo "$$peer does not install: left out"; \
	done
	@touch $@

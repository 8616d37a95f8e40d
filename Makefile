# Every target sets up what it needs, once: a virtual environment in .venv, the package with its C engine, dependencies.
# PYTHON=python3.12 picks another interpreter; without a C compiler the Python engine is used, and says so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PEERS := .venv-peers
CORPUS := .venv-corpus
PARTS ?=
WORKERS ?= auto
PROGRAMS ?= 1000
SEED ?= 0
SECONDS ?= 10
EACH ?= 12
PARALLEL := $(addprefix tests/,engine/test_engine.py engine/test_backward.py engine/test_primitive.py engine/test_threads.py tape/test_transforms.py)
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

SOURCES := $(wildcard src/micrograd/native/*.c src/micrograd/native/*.h)
MADE := $(VENV)/.made-with-$(VERSION)
CORE := $(VENV)/.package
ENGINE := $(VENV)/.engine
DEV := $(VENV)/.dev
# uv installs in seconds what takes pip minutes; pip does it where uv cannot be had.
INSTALL = tools/pip_install.sh $(BIN)/python

ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),help)),)
$(shell tools/heal_venv.sh $(VENV) $(BIN)/python >&2)
endif

.PHONY: help site editor demo test test-slow test-core test-parallel test-dist test-pyodide test-lowest test-newest dist dist-pure wheels docs docs-links lint bench bench-eager bench-gpu ptxas bench-gradbench corpus corpus-part accuracy orders fuzz fuzz-loaders mutants trust faults sanitize sanitize-threads windows ops setup clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(CORE) $(ENGINE)  ## train a small network and look at the result
	$(BIN)/python -m micrograd demo

test: $(DEV) $(ENGINE) lint  ## ruff, mypy and the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -q -m "not slow"
	@echo "make test: all passed"

test-slow: $(DEV) $(ENGINE)  ## the slow tests: killed workers, more random programs, every derivative
	$(BIN)/python -m pytest -n $(WORKERS) -q -m slow

lint: $(DEV) $(ENGINE)  ## ruff, mypy, and the schemas of the workflow files
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

docs: $(DEV) $(ENGINE)  ## build the documentation site into docs/_build/html; a warning is an error
	@$(BIN)/python -c 'import sphinx, myst_parser, pydata_sphinx_theme, sphinx_design, sphinx_copybutton' 2>/dev/null || $(INSTALL) --no-build-isolation --editable ".[docs]"
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

site: $(DEV) $(ENGINE)  ## build the course, the explorer, the theatre and the browser workshop into build/site (needs npm)
	test -e node_modules/pyodide || npm ci --silent
	$(BIN)/python -m micrograd learn --site build/site --pyodide node_modules/pyodide
	@echo "serve it: python3 -m http.server --directory build/site"

editor:  ## bundle CodeMirror 6 for the pages from what tools/editor/package-lock.json pins (needs npm)
	npm ci --silent --prefix tools/editor
	node tools/editor/build.mjs

docs-links: docs  ## ask every address in the documentation whether it answers
	$(BIN)/python -m sphinx --quiet -b linkcheck docs docs/_build/linkcheck

dist: $(DEV) $(ENGINE)  ## build the sdist and the wheel into dist/, and check what they hold
	$(INSTALL) "build>=1.2" "twine>=6.1" "check-wheel-contents>=0.6"
	rm -rf dist build/lib* build/bdist*
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python tools/check_dist.py dist

dist-pure: $(DEV) $(ENGINE)  ## build a wheel without the C engine, for Pyodide and machines without a compiler
	$(INSTALL) "build>=1.2"
	rm -rf dist build/lib* build/bdist*
	CC=false CXX=false $(BIN)/python -m build --quiet --wheel --outdir dist
	$(BIN)/python tools/check_dist.py dist

wheels:  ## wheels for this system, in wheelhouse, by the cibuildwheel that tools/cibuildwheel.txt pins (needs a container on Linux)
	$(PYTHON) -m pip install --quiet --require-hashes --no-deps --only-binary :all: -r tools/cibuildwheel.txt
	$(PYTHON) -m cibuildwheel --output-dir wheelhouse

test-pyodide: dist-pure  ## run the pure wheel in Pyodide, under node
	test -e node_modules/pyodide || npm ci --silent
	node tools/try_pyodide.mjs dist

test-core: $(MADE)  ## the tests of the engine, with pytest alone: what a new or unusual (free-threaded) interpreter can run
	rm -f src/micrograd/_engine*.so
	$(INSTALL) --no-build-isolation --editable ".[test]"
	-$(BIN)/python -W ignore setup.py --quiet build_ext --inplace
	$(BIN)/python -m pytest -n $(WORKERS) -q tests/engine tests/tape
	@if $(BIN)/python -c 'import sysconfig, sys; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'; then $(MAKE) --no-print-directory test-parallel; fi

test-parallel: $(MADE)  ## run each test of the engine in four threads at once, on a free-threaded Python (pytest-run-parallel)
	$(INSTALL) pytest-run-parallel
	$(BIN)/python -m pytest -n 0 -q --parallel-threads=4 $(PARALLEL)

test-dist: dist  ## install the wheel that was built into a fresh environment, and run the tests of the sdist on it
	$(BIN)/python tools/test_dist.py dist

test-lowest:  ## run the tests with the lowest declared version of every dependency (PYTHON=python3.10 is the lowest Python)
	$(PYTHON) tools/test_versions.py lowest

test-newest:  ## run the tests with the newest versions of all dependencies, pre-releases too
	$(PYTHON) tools/test_versions.py newest

bench: $(DEV) $(ENGINE) $(PEERS)/.all  ## time compiled functions beside hand-written C and the peers; writes benchmarks/results
	status=0; for program in "compiled.py --peers $(PEERS)" branches.py loops.py; do \
		$(BIN)/python benchmarks/$$program || status=1; done; exit $$status

bench-eager: $(DEV) $(ENGINE) $(PEERS)/.ready  ## time the engine beside floats and micrograd 0.1.0; fails when a figure falls short
	$(BIN)/python benchmarks/eager.py --peer $(PEERS)/bin/python

bench-gpu: $(DEV) $(ENGINE)  ## time rows on an NVIDIA GPU, with arrays on the device and with NumPy arrays; says so where there is none
	$(BIN)/python benchmarks/gpu.py --float32 --static

ptxas: $(DEV) $(ENGINE)  ## what NVIDIA's assembler makes of our PTX: registers, stack, spills; needs no GPU
	$(INSTALL) nvidia-cuda-nvcc nvidia-cuda-nvdisasm
	$(BIN)/python tools/ptxas.py

bench-gradbench: $(DEV) $(ENGINE)  ## time GradBench's evals beside hand-written C, and JAX and PyTorch where they are installed
	$(BIN)/python -m benchmarks.gradbench --write

corpus: $(ENGINE) $(CORPUS)/.ready  ## run the programs of other packages in every way, and count what is right: make corpus PARTS="doctests nist"
	PYTHONPATH=src $(CORPUS)/bin/python -m corpus $(PARTS)

corpus-part: $(ENGINE) $(CORPUS)/.ready  ## a part of the corpus, in under three minutes
	PYTHONPATH=src $(CORPUS)/bin/python -m corpus doctests cutest programs --every 15 --seconds 20 --budget 120

fuzz: $(DEV) $(ENGINE)  ## run random programs in every way and compare: make fuzz PROGRAMS=1000 SEED=0
	$(BIN)/python -m fuzz --seed $(SEED) --count $(PROGRAMS)

fuzz-loaders: $(DEV)  ## feed damaged files, texts and requests to whatever reads them: make fuzz-loaders SECONDS=60
	$(BIN)/python -m fuzz.loaders --seconds $(SECONDS)

mutants: $(DEV)  ## break the package in small ways, and see whether its tests notice: make mutants EACH=40
	$(BIN)/python tools/mutants.py --each $(EACH)

trust: $(DEV)  ## write docs/trust.md from the promises in tools/trust.py and the last counts
	$(BIN)/python tools/trust.py

accuracy: $(DEV) $(ENGINE)  ## measure every op against mpmath at 50 digits, and write docs/accuracy*.md
	$(BIN)/python tools/accuracy.py
	$(BIN)/python tools/accuracy_compiled.py

orders: $(DEV) $(ENGINE)  ## measure every op's derivatives of orders 1 to 4 against mpmath, and write docs/orders.md
	$(BIN)/python tools/orders.py

faults: $(DEV) $(ENGINE)  ## every allocation and every system call of files fails once, operands turn hostile, processes are killed
	$(BIN)/python -m pytest -q tests/engine/test_faults.py tests/engine/test_faults_compiled.py tests/engine/test_hostile.py tests/engine/test_by_hand.py tests/train/test_system_calls.py
	$(BIN)/python tools/sanitize.py --leaks --only faults,faults_compiled,hostile,by_hand,layouts

sanitize: $(DEV) $(ENGINE)  ## run the engine's tests on a C engine built with Address-, UndefinedBehavior- and ThreadSanitizer
	$(BIN)/python tools/sanitize.py
	$(BIN)/python tools/sanitize.py --races

sanitize-threads:  ## look for races with a CPython built --with-thread-sanitizer: make sanitize-threads PYTHON=/its/python3
	setarch -R $(PYTHON) tools/sanitize.py --races

windows: $(DEV)  ## compile every unit of the C engine for Windows, with mingw-w64's cross compiler where it is installed
	$(BIN)/python tools/check_windows.py

ops: $(DEV) $(ENGINE)  ## write ops.h and ops.js from ops.py, and optim_rules.h from optim/rules.py, and build the C engine again
	MICROGRAD_PURE=1 $(BIN)/python tools/gen_ops_h.py
	MICROGRAD_PURE=1 $(BIN)/python tools/gen_ops_js.py
	MICROGRAD_PURE=1 $(BIN)/python tools/gen_math_pyi.py
	MICROGRAD_PURE=1 $(BIN)/python tools/gen_optim_h.py
	MICROGRAD_PURE=1 $(BIN)/python tools/gen_optim_js.py
	$(BIN)/python setup.py --quiet build_ext --inplace

setup: $(DEV) $(ENGINE)  ## the environment for development, and nothing else

clean:  ## remove what these targets made
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest $(PEERS) $(CORPUS) build dist demo-output src/*.egg-info src/micrograd/*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- what the targets need

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit("micrograd needs Python 3.10 or newer, and $(PYTHON) is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2] if sys.version_info < (3, 10) else 0)'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/python -m pip --disable-pip-version-check --quiet install uv
	$(INSTALL) "setuptools>=77" wheel
	@pwd -P > $(VENV)/.place
	@touch $@

$(CORE): $(MADE) setup.py pyproject.toml
	rm -f src/micrograd/_engine*.so
	$(INSTALL) --no-build-isolation --editable ".[jit,train]"
	@touch $@

$(ENGINE): $(CORE) $(SOURCES)  # setuptools compiles only what has changed
	$(BIN)/python -W ignore setup.py --quiet build_ext --inplace
	@$(BIN)/python -c 'import micrograd._engine' 2>/dev/null && touch $(VENV)/.native || rm -f $(VENV)/.native
	@touch $@

$(DEV): $(CORE)
	$(INSTALL) --no-build-isolation --editable ".[dev]"
	@touch $@

$(CORPUS)/.ready: corpus/requirements.txt
	$(PYTHON) -m venv $(CORPUS)
	$(CORPUS)/bin/python -m pip --disable-pip-version-check --quiet install --requirement corpus/requirements.txt
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

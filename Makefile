# The project's commands. `make run` starts the app, `make test` passes the tests, CI is `.ci/run`.

PYTHON ?= $(shell for v in python3.13 python3.12 python3.11 python3; do \
	$$v -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$v && break; done)
BIN := .venv/bin
INSTALLED := .venv/.installed

VLLM := .venv-vllm
VLLM_INSTALLED := $(VLLM)/.installed
VLLM_PINS := tests/integration/vllm/requirements.txt

LEARN := .venv-learn
LEARN_INSTALLED := $(LEARN)/.installed
LEARN_PINS := tests/integration/learn/requirements.txt

INSPECT := .venv-inspect
INSPECT_INSTALLED := $(INSPECT)/.installed
INSPECT_PINS := tests/integration/inspect/requirements.txt

RAY := .venv-ray
RAY_INSTALLED := $(RAY)/.installed
RAY_PINS := tests/integration/ray/requirements.txt

CLIENTS := .venv-clients
CLIENTS_INSTALLED := $(CLIENTS)/.installed
CLIENTS_PINS := tests/integration/clients/requirements.txt
CLIENTS_NODE := tests/integration/clients/node

WHEEL := .venv-installed
WHEEL_INSTALLED := $(WHEEL)/.installed
PACKED := pyproject.toml app.py $(shell find .streamlit conductor storage studio pages -type f -not -name '*.pyc')

.PHONY: setup run learn unit unit-app unit-library test test-thorough test-environments test-vllm test-learn test-inspect test-clients \
	test-ray test-installed environments check lint types bench screenshots faults lock

setup: $(INSTALLED)

$(INSTALLED): requirements.lock
	@test -n "$(PYTHON)" || { echo "Conductor Studio needs Python 3.11, 3.12 or 3.13; install one of them."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "Python cannot make environments here; install its venv package (on Debian: python3-venv)."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

run: setup
	$(BIN)/python -m streamlit run app.py

# Bytecode is written even where the environment, as in many containers, forbids it: each worker would compile all
# tests, and each process that a test starts the whole program.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

# What draws no page, starts no server and no process, waits for no clock and takes some hundredths of a second at most,
# with a tenth of the made-up cases: in two processes that share nothing, since handing out thousands of tests that take
# a millisecond costs more than they do. Where make can, each half is printed as a whole.
UNIT := $(PYTEST) -n 0 -m "not (browser or page or slow or thorough)" --hypothesis-profile=unit

unit: setup
	@$(MAKE) --no-print-directory -k -j2 $(if $(findstring output-sync,$(.FEATURES)),--output-sync=recurse) \
		unit-app unit-library

unit-app: setup
	$(UNIT) tests/studio tests/pages tests/storage tests/conductor/planner

unit-library: setup
	$(UNIT) $(addprefix --ignore=tests/,studio pages storage conductor/planner browser integration)

# Everything but `thorough`, in as many workers as there are cores.
test: setup
	$(PYTEST) $(PARALLEL) -m "not thorough"

# What needs more than this machine by itself: PostgreSQL, kills, crowds, other people's clients, every theme and width, and
# the rarer ways of the app in a browser.
test-thorough: setup
	$(PYTEST) $(PARALLEL) -m thorough

# A real vLLM server on the CPU, in an environment of its own: 2.5 GB of disk, about three minutes.
test-vllm: setup $(VLLM_INSTALLED)
	CONDUCTOR_TEST_VLLM=$(VLLM)/bin/python $(PYTEST) tests/integration/vllm

$(VLLM_INSTALLED): $(VLLM_PINS) | $(INSTALLED)
	@test -x $(VLLM)/bin/python || $(BIN)/python -m venv $(VLLM) || { rm -rf $(VLLM); exit 1; }
	@$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
		-r $(VLLM_PINS) || { echo "vLLM could not be installed: it needs 2.5 GB of disk, Linux, and for the CPU" \
		"build of torch PyTorch's own package index (PIP_EXTRA_INDEX_URL)."; exit 1; }
	@touch $@

# What training needs, in an environment of its own, which the Learning page finds: 0.8 GB of disk.
learn: setup $(LEARN_INSTALLED)

# Training on the CPU, in the locked environment with torch, transformers and TRL: 0.8 GB of disk, four minutes at most.
test-learn: setup $(LEARN_INSTALLED)
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 CONDUCTOR_TEST_LEARN=$(LEARN)/bin/python $(LEARN)/bin/python -m pytest \
		-n 2 --dist loadfile tests/integration/learn tests/browser/test_app_training.py

# What is not its own it reads from .venv, whose Python it shares.
$(LEARN_INSTALLED): $(LEARN_PINS) | $(INSTALLED)
	@test -x $(LEARN)/bin/python || $(BIN)/python -m venv $(LEARN) || { rm -rf $(LEARN); exit 1; }
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
		$$($(LEARN)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/locked.pth
	@$(LEARN)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
		-r $(LEARN_PINS) || { echo "torch and TRL could not be installed: they need 0.8 GB of disk, and torch's build" \
		"for the CPU PyTorch's own package index (PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu)."; exit 1; }
	@touch $@

# A real Inspect AI against the API, and what loads sets of questions from the hub, in an environment of their own:
# 350 MB of disk, half a minute.
test-inspect: setup $(INSPECT_INSTALLED)
	CONDUCTOR_TEST_INSPECT=$(abspath $(INSPECT))/bin/python $(PYTEST) tests/integration/inspect \
		tests/conductor/evaluation/sets

$(INSPECT_INSTALLED): $(INSPECT_PINS) | $(INSTALLED)
	@test -x $(INSPECT)/bin/python || $(BIN)/python -m venv $(INSPECT) || { rm -rf $(INSPECT); exit 1; }
	@$(INSPECT)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
		-r $(INSPECT_PINS)
	@touch $@

# Evaluations, rollouts and the API on Ray clusters of two nodes, one of which is killed: 280 MB of disk, two minutes.
test-ray: setup $(RAY_INSTALLED)
	PYTHONDONTWRITEBYTECODE= CONDUCTOR_TEST_RAY=$(RAY)/bin/python $(RAY)/bin/python -m pytest \
		-n 2 --dist loadfile tests/integration/ray

# What is not its own it reads from .venv, whose Python it shares.
$(RAY_INSTALLED): $(RAY_PINS) | $(INSTALLED)
	@test -x $(RAY)/bin/python || $(BIN)/python -m venv $(RAY) || { rm -rf $(RAY); exit 1; }
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
		$$($(RAY)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/locked.pth
	@$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
		-r $(RAY_PINS)
	@touch $@

# Other people's clients against the API, those for Python in an environment of their own and those for Node, where it
# is there: 400 MB of disk, a minute. The table of clients in docs/api.md is compared with what was tried.
test-clients: setup $(CLIENTS_INSTALLED)
	CONDUCTOR_TEST_CLIENTS=$(abspath $(CLIENTS))/bin/python $(PYTEST) tests/integration/clients

$(CLIENTS_INSTALLED): $(CLIENTS_PINS) $(CLIENTS_NODE)/package-lock.json | $(INSTALLED)
	@test -x $(CLIENTS)/bin/python || $(BIN)/python -m venv $(CLIENTS) || { rm -rf $(CLIENTS); exit 1; }
	@$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
		-r $(CLIENTS_PINS)
	@! command -v npm >/dev/null || npm ci --silent --no-audit --no-fund --prefix $(CLIENTS_NODE)
	@touch $@

# The wheel in an environment that has nothing else, with the locked versions of what it needs.
test-installed: setup $(WHEEL_INSTALLED)
	CONDUCTOR_TEST_INSTALLED=$(WHEEL)/bin $(PYTEST) tests/integration/installed

$(WHEEL_INSTALLED): requirements.lock $(PACKED) | $(INSTALLED)
	@rm -rf $(WHEEL) && $(BIN)/python -m venv $(WHEEL)
	@sed -n '/^[a-z0-9]/s/ *\\$$//p' requirements.lock > $(WHEEL)/constraints.txt
	@$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		-c $(WHEEL)/constraints.txt .
	@touch $@

# What those six are tried in, made beforehand.
environments: $(WHEEL_INSTALLED) $(INSPECT_INSTALLED) $(CLIENTS_INSTALLED) $(RAY_INSTALLED) $(LEARN_INSTALLED) $(VLLM_INSTALLED)

# What needs an environment of its own, one after the other.
test-environments: test-installed test-inspect test-clients test-learn test-vllm test-ray

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

check: lint types test

bench: setup
	$(BIN)/python benchmarks/engine.py

# Every view in four sizes and two themes, to be looked at: test-artifacts/screenshots/, about five minutes.
screenshots: setup
	$(BIN)/python tests/browser/screenshots.py

# Kills the program 200 times in the middle of its work, and looks for what was lost: about five minutes.
faults: setup
	$(BIN)/python -m tests.faults --kills 200

# Needs uv (pip install uv): the versions of every platform and every supported Python in one file.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
		--no-header --quiet --upgrade -o requirements.lock

# The project's commands. `make run` starts the app, `make test` passes the tests, CI is `.ci/run`, which is `make check`.

BIN := .venv/bin
INSTALLED := .venv/.installed
PORT ?= $(or $(STREAMLIT_SERVER_PORT),8501)

VLLM := .venv-vllm
VLLM_INSTALLED := $(VLLM)/.installed
VLLM_PINS := tests/integration/vllm/requirements.txt

LEARN := .venv-learn
LEARN_INSTALLED := $(LEARN)/.installed
LEARN_PINS := tests/integration/learn/requirements.txt

INSPECT := .venv-inspect
INSPECT_INSTALLED := $(INSPECT)/.installed
INSPECT_PINS := tests/integration/inspect/requirements.txt

TRACKERS := .venv-trackers
TRACKERS_INSTALLED := $(TRACKERS)/.installed
TRACKERS_PINS := tests/integration/trackers/requirements.txt

RAY := .venv-ray
RAY_INSTALLED := $(RAY)/.installed
RAY_PINS := tests/integration/ray/requirements.txt

CLIENTS := .venv-clients
CLIENTS_INSTALLED := $(CLIENTS)/.installed
CLIENTS_PINS := tests/integration/clients/requirements.txt
CLIENTS_NODE := tests/integration/clients/node

AIDER := .venv-aider
AIDER_INSTALLED := $(AIDER)/.installed
AIDER_PINS := tests/integration/clients/aider.txt

SITE := .venv-docs
SITE_INSTALLED := $(SITE)/.installed
SITE_PINS := tests/integration/docs/requirements.txt

WHEEL := .venv-installed
WHEEL_INSTALLED := $(WHEEL)/.installed
PACKED := pyproject.toml app.py .streamlit/config.toml conductor storage studio pages docs

# A caller's variables by which Python would start another program, or another environment be meant.
unexport PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONOPTIMIZE PYTHONUSERBASE PYTHONSAFEPATH PYTHONINSPECT PYTHONEXECUTABLE \
	PYTHONPLATLIBDIR PYTHONDONTWRITEBYTECODE __PYVENV_LAUNCHER__ VIRTUAL_ENV CONDA_PREFIX

# Run at each call: which environment is whole, environment.sh finds out. `make PYTHON=...` chooses the interpreter.
LOCKED := @sh environment.sh .venv
LOCKED_OPTIONS := "--no-deps --require-hashes"
PINNED := @PYTHON=$(BIN)/python sh environment.sh
PINNED_OPTIONS := "--no-deps --no-cache-dir"
TORCH := for the CPU build of torch PyTorch's own index (PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu)

# What an environment does not have itself it reads from .venv, whose Python it shares.
behind = @cd $(1) && for packages in lib/python3*/site-packages; do \
	echo "../../../../.venv/$$packages" > $$packages/locked.pth; done

RESOLVE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet --upgrade

.PHONY: setup app run learn unit unit-app unit-library test test-thorough test-environments \
	test-real test-vllm test-learn test-inspect test-trackers test-clients test-ray test-installed test-trees \
	changed docs check lint lint-js types bench screenshots texts faults trial lock

# What the tests need, too.
setup: $(INSTALLED)

$(INSTALLED): FORCE
	$(LOCKED) "390 MB to download, 1.1 GB of disk, two minutes at most" $(LOCKED_OPTIONS) requirements.lock requirements-dev.lock

# What the app needs.
app: FORCE
	$(LOCKED) "290 MB to download, 0.8 GB of disk, two minutes at most" $(LOCKED_OPTIONS) requirements.lock

FORCE:

run: app
	@$(BIN)/python -c "import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); \
		s.bind(('127.0.0.1', $(PORT)))" 2>/dev/null || { echo "Port $(PORT) is in use, perhaps by another Conductor" \
		"Studio, or reserved: make run PORT=$$(($(PORT) + 1))"; exit 1; }
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

# Bytecode is written even where the environment, as in many containers, forbids it: each worker would compile all
# tests, and each process that a test starts the whole program.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

# What draws no page, starts no server and no process, waits for no clock and takes some hundredths of a second at most:
# in two processes that share nothing, since handing out thousands of tests that take a millisecond costs more than they
# do. Where make can, each half is printed as a whole.
UNIT := $(PYTEST) -n 0 -m "not (browser or page or slow or thorough)" --hypothesis-profile=unit

unit: setup
	@$(MAKE) --no-print-directory -k -j2 $(if $(findstring output-sync,$(.FEATURES)),--output-sync=recurse) \
		unit-app unit-library

unit-app: setup
	$(UNIT) tests/studio tests/pages tests/storage tests/conductor/planner

unit-library: setup
	$(UNIT) $(addprefix --ignore=tests/,studio pages storage conductor/planner browser integration)

# What can be shown here in less than half a second of a core, with a tenth of the cases that Hypothesis makes up, and the
# ways through the app in a browser that everyone walks: in as many workers as there are cores.
test: setup
	$(PYTEST) $(PARALLEL) -m "not thorough" --hypothesis-profile=unit

# The rest: servers, commands, kills and crowds, PostgreSQL, other people's clients, every other test in a browser; and
# all the cases of Hypothesis.
test-thorough: setup
	$(PYTEST) $(PARALLEL) -m "thorough or hypothesis" --timeout=600

# The tests that mirror what was changed since main, committed or not: of conductor/x/y.py tests/conductor/x/test_y.py,
# else those of the nearest folder. `make changed SINCE=COMMIT` takes another beginning.
SINCE ?= main

changed: setup
	@tests=$$($(BIN)/python tests/changed.py $(SINCE)) && \
		if [ -z "$$tests" ]; then echo "No test mirrors what changed since $(SINCE)."; \
		else $(PYTEST) -n 0 --hypothesis-profile=unit $$tests; fi

# A real vLLM server on the CPU, in an environment of its own: 2.5 GB of disk, about three minutes.
test-vllm: setup $(VLLM_INSTALLED)
	CONDUCTOR_TEST_VLLM=$(VLLM)/bin/python $(PYTEST) tests/integration/vllm

$(VLLM_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(VLLM) "2.5 GB of disk, about three minutes; Linux, $(TORCH)" $(PINNED_OPTIONS) $(VLLM_PINS)

# What training needs, in an environment of its own, which the Learning page finds: 0.8 GB of disk.
learn: $(LEARN_INSTALLED)

PYTEST_LEARN := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 CONDUCTOR_TEST_LEARN=$(LEARN)/bin/python \
	$(LEARN)/bin/python -m pytest
REAL_WEIGHTS := tests/integration/learn/test_grpo_from_gguf.py

# Training on the CPU, in the locked environment with torch, transformers and TRL: 0.8 GB of disk, four minutes at most.
test-learn: setup $(LEARN_INSTALLED)
	$(PYTEST_LEARN) -n 2 --dist loadfile --ignore=$(REAL_WEIGHTS) tests/integration/learn \
		tests/browser/test_app_training.py

$(LEARN_INSTALLED): FORCE | app
	$(PINNED) $(LEARN) "0.8 GB of disk, about a minute; $(TORCH)" $(PINNED_OPTIONS) $(LEARN_PINS)
	$(call behind,$(LEARN))

# A real Inspect AI against the API, and what loads sets of questions from the hub, in an environment of their own:
# 350 MB of disk, half a minute.
test-inspect: setup $(INSPECT_INSTALLED)
	CONDUCTOR_TEST_INSPECT=$(abspath $(INSPECT))/bin/python $(PYTEST) tests/integration/inspect \
		tests/conductor/evaluation/sets

$(INSPECT_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(INSPECT) "350 MB of disk, half a minute" $(PINNED_OPTIONS) $(INSPECT_PINS)
	$(call behind,$(INSPECT))

# Scores in MLflow's and W&B's own stores, without a network: 180 MB of disk, half a minute.
test-trackers: setup $(TRACKERS_INSTALLED)
	CONDUCTOR_TEST_TRACKERS=1 $(TRACKERS)/bin/python -m pytest -n 0 tests/integration/trackers

$(TRACKERS_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(TRACKERS) "180 MB of disk, half a minute" $(PINNED_OPTIONS) $(TRACKERS_PINS)
	$(call behind,$(TRACKERS))

# Evaluations, rollouts and the API on Ray clusters of two nodes, and by Ray's own commands: 290 MB of disk, five minutes.
test-ray: setup $(RAY_INSTALLED)
	PYTHONDONTWRITEBYTECODE= RAY_ENABLE_AUTO_CONNECT=0 CONDUCTOR_TEST_RAY=$(RAY)/bin/python $(RAY)/bin/python -m pytest \
		-n 2 --dist loadfile tests/integration/ray

$(RAY_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(RAY) "290 MB of disk, half a minute" $(PINNED_OPTIONS) $(RAY_PINS)
	$(call behind,$(RAY))

# Other people's clients and coding agents against the API, those for Python in environments of their own and those for
# Node, where it is there: 1.8 GB of disk, some minutes. The table of clients in docs/api.md is compared with what was
# tried, and the agents have the configuration of docs/agents.md.
test-clients: setup $(CLIENTS_INSTALLED) $(AIDER_INSTALLED)
	CONDUCTOR_TEST_CLIENTS=$(abspath $(CLIENTS))/bin/python CONDUCTOR_TEST_AIDER=$(abspath $(AIDER))/bin/python \
		$(PYTEST) tests/integration/clients

$(CLIENTS_INSTALLED): FORCE $(CLIENTS_NODE)/node_modules/.package-lock.json | $(INSTALLED)
	$(PINNED) $(CLIENTS) "400 MB of disk, a minute" $(PINNED_OPTIONS) $(CLIENTS_PINS)

$(AIDER_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(AIDER) "500 MB of disk, a minute" $(PINNED_OPTIONS) $(AIDER_PINS)

# Written by npm when all is there.
%/node_modules/.package-lock.json: %/package-lock.json
	@! command -v npm >/dev/null || npm ci --silent --no-audit --no-fund --prefix $*

# The wheel in an environment that has nothing else, with the locked versions of what it needs.
test-installed: setup $(WHEEL_INSTALLED)
	CONDUCTOR_TEST_INSTALLED=$(WHEEL)/bin $(PYTEST) tests/integration/installed

# Its list has the sums of what is packed and, since its scripts name it, the folder: with another list it is made again.
$(WHEEL_INSTALLED): FORCE | $(INSTALLED)
	@sed -n '/^[a-z0-9]/s/ *\\$$//p' requirements.lock > .venv/locked.txt
	@{ echo "-c locked.txt"; echo "."; echo "# $(CURDIR)"; find $(PACKED) -type f ! -name '*.pyc' -exec cksum {} + | \
		sort | sed 's/^/# /'; } > .venv/wheel.txt
	@grep -qsxF "$$(cksum .venv/wheel.txt)" $(WHEEL)/.installed || rm -f $(WHEEL)/.installed
	$(PINNED) $(WHEEL) "0.6 GB of disk, a minute" "" .venv/wheel.txt

# The small real model that `make run` installs, in the app, the API and the commands; and two steps of training on its
# weights, which take 5 GB of memory: ten minutes at most.
test-real: setup $(LEARN_INSTALLED)
	CONDUCTOR_TEST_REAL=1 $(PYTEST) -n 0 tests/integration/real
	$(PYTEST_LEARN) -n 0 --timeout=900 $(REAL_WEIGHTS)

# The pages of docs/ as a site, test-artifacts/site/index.html, in an environment of its own: 140 MB of disk. A link to a
# page or a heading that is not there is an error; files and pictures are checked by tests/test_links.py.
docs: $(SITE_INSTALLED)
	$(SITE)/bin/zensical build --clean --strict

$(SITE_INSTALLED): FORCE | $(INSTALLED)
	$(PINNED) $(SITE) "140 MB of disk, a quarter of a minute" $(PINNED_OPTIONS) $(SITE_PINS)

# What needs an environment or a model of its own, one after the other; the longest first.
test-environments: test-vllm test-learn test-real test-clients test-inspect test-trackers test-installed docs test-ray

# `make run` and `make test` in minimal trees of Debian 12 and 13 with their own Python, as an ordinary user without git:
# 2.5 GB of disk for a while, half an hour. Needs root and debootstrap; elsewhere the reason is printed.
test-trees:
	.ci/newcomer bookworm
	.ci/newcomer trixie

lint: setup
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

# The page's scripts by eslint and tsc, and the geometry of cards. Needs Node 20.19, 22.13 or newer: 80 MB of disk.
lint-js: tests/node/node_modules/.package-lock.json
	npm run --silent --prefix tests/node lint
	npm test --silent --prefix tests/node

types: setup
	$(BIN)/python -m mypy

check: lint types test

bench: setup
	$(BIN)/python benchmarks/engine.py

# Every view in four sizes and two themes, to be looked at: test-artifacts/screenshots/, about five minutes. With DOCS=1
# the pictures and the moving picture of the documentation, into docs/.
screenshots: setup
	$(BIN)/python tests/browser/screenshots.py $(if $(DOCS),--docs)

# All texts of the screen, one a line with its place.
texts: setup
	@$(BIN)/python -m tests.screen_texts

# Kills the program 200 times in the middle of its work, and looks for what was lost: about five minutes.
faults: setup
	$(BIN)/python -m tests.faults --kills 200

# Thirty clients of five processes on PostgreSQL behind nginx, one of which is killed each 30 s; Chromium is needed, too.
trial: setup
	$(BIN)/python -m tests.faults.trial --seconds $(or $(SECONDS),600)

# Needs uv (pip install uv): its own version, and the versions of every platform and every supported Python, those that the app needs and
# those that the tests need beside them.
lock:
	$(RESOLVE) pyproject.toml --group embedded -o requirements.lock
	echo uv | $(RESOLVE) - -o requirements-uv.lock
	$(RESOLVE) --group dev -c requirements.lock -o requirements-dev.lock \
		$$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock)

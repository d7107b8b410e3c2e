# Every target prepares .venv by itself; all it takes is Python 3.11 or newer and make. `make` alone shows the targets.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements-dev.lock
ORACLE := build/oracle
ORACLE_LOCK := requirements-oracle.lock
GO := build/go
GO_LOCK := requirements-go.lock
PIP_TOOLS := 7.6.2
# Those marked `integration` too.
EVERY := -m "integration or not integration"

# Ask pip no questions; leave its own upgrades for another day.
export PIP_NO_INPUT := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The targets share .venv and the cores, so they take turns, also under `make -j`.
.NOTPARALLEL:
.PHONY: verify test test-deep test-integrations oracle lint bench vllm third-party vectors schemas settings methods format \
  lock clean help

verify: $(READY) ## Prove, then compare the machine and the scheduler on real requests (the main job)
	$(BIN)/sfq-prove verify $(ARGS)

test: $(READY) ## Run the fast tests; choose some with ARGS="-k heap"
	$(BIN)/pytest -n auto --maxprocesses 4 $(ARGS)

test-deep: $(READY) ## Run every test with many more examples from a fresh seed, which is printed
	SFQ_PROFILE=deep $(BIN)/pytest -n auto --maxprocesses 4 $(ARGS)

oracle: $(ORACLE)/.ready ## Compare three of the related methods with a simulator that others wrote
	SFQ_ORACLE=required $(BIN)/pytest -n auto --maxprocesses 4 $(EVERY) tests/oracle $(ARGS)

lint: $(READY) ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## Measure scheduler, audit, kit, dispatcher and gateway against their goals, and against others
	$(BIN)/python tests/benchmarks/run.py $(ARGS)
	$(BIN)/python tests/benchmarks/audit.py
	$(BIN)/python tests/benchmarks/validate.py
	$(BIN)/python tests/benchmarks/fleet.py
	$(BIN)/python tests/benchmarks/gateway.py

test-integrations: $(ORACLE)/.ready $(GO)/.ready ## Run what is slow and real: engines, promtool, Go, a simulator and libraries of others
	$(BIN)/python tests/third_party/environment.py
	SFQ_GO=required SFQ_ORACLE=required SFQ_THIRD_PARTY=required $(BIN)/pytest -m integration -n auto --maxprocesses 4 \
	  --ignore tests/gateway --ignore tests/integrations $(ARGS)
	$(BIN)/pytest -m integration --durations 10 --ignore tests/integrations/vllm tests/gateway tests/integrations $(ARGS)

vllm: $(READY) ## Run the gateway before a real vLLM on processors (3.5 GB, Linux, needs Python 3.11)
	$(BIN)/python tests/integrations/vllm/environment.py
	SFQ_VLLM=required $(BIN)/pytest -s -m integration tests/integrations/vllm $(ARGS)

third-party: $(READY) ## Try the kit on schedulers that others have published (needs Python 3.12 or newer besides)
	$(BIN)/python tests/third_party/environment.py
	$(BIN)/python tests/third_party/findings.py
	SFQ_THIRD_PARTY=required $(BIN)/pytest $(EVERY) tests/third_party $(ARGS)

vectors: $(READY) ## Make the vectors again, from the specification and its mutants
	$(BIN)/python -c 'from pathlib import Path; from sfq_spec.conformance.generate import encoded; \
	  Path("spec/sfq_spec/data/vectors.json").write_bytes(encoded())'
	$(BIN)/python -c 'from pathlib import Path; from sfq_spec.conformance.las.generate import encoded; \
	  Path("spec/sfq_spec/data/las_vectors.json").write_bytes(encoded())'

schemas: $(READY) ## Make the JSON Schemas again, from the structs that read the formats
	$(BIN)/python -c 'from pathlib import Path; from sfq_spec.schemas import encoded; \
	  [Path("spec/sfq_spec/data/schemas", name).write_bytes(data) for name, data in encoded().items()]'

settings: $(READY) ## Write the settings of the gateway into docs/gateway.md again
	$(BIN)/python tests/integrations/page.py

methods: $(READY) ## Put all methods to all questions again, and hold docs/comparison.md against it; ARGS=--write
	$(BIN)/sfq-prove methods docs/comparison.md $(ARGS)

format: $(READY) ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Resolved for the oldest Python that is supported, from public files alone: what the machine's own configuration of
# pip adds (folders of packages, further indexes, constraints) is left out, and nothing of it is written down.
lock: ## Write requirements-dev.lock anew; newer versions with ARGS=--upgrade (needs Python 3.11)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo "make lock: the lock is made with Python 3.11, the oldest one supported; name it: make lock PYTHON=python3.11" >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear build/lock
	$(LOCK_ENV) build/lock/bin/pip install -qq pip-tools==$(PIP_TOOLS)
	$(LOCK_ENV) build/lock/bin/pip-compile --quiet --no-config \
	  --extra proofs --extra test --extra bench --extra lint --extra gateway --extra demo --extra integration \
	  --build-deps-for editable \
	  --generate-hashes --strip-extras --allow-unsafe \
	  --no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	  --output-file $(LOCK) $(ARGS) pyproject.toml
LOCK_ENV = env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_CONSTRAINT PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock"

clean: ## Remove .venv and everything else that the targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

# A folder of its own, for the version is not the one that is measured in `make bench`; its metadata asks for a newer
# Python than its code does.
$(ORACLE)/.ready: $(ORACLE_LOCK) $(READY)
	@rm -rf $(ORACLE)
	@$(BIN)/pip install -qq --no-deps --ignore-requires-python --require-hashes --target $(ORACLE) -r $(ORACLE_LOCK)
	@touch $@

# A compiler, for the skeleton in Go. Nothing in it is imported.
$(GO)/.ready: $(GO_LOCK) $(READY)
	@rm -rf $(GO)
	@$(BIN)/pip install -qq --no-deps --only-binary :all: --require-hashes --target $(GO) -r $(GO_LOCK)
	@touch $@

$(READY): pyproject.toml $(LOCK)
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo "No '$(PYTHON)' here: install Python 3.11 or newer, or name one with PYTHON=/path/to/python3" >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "'$(PYTHON)' is $$('$(PYTHON)' --version 2>&1), and Python 3.11 or newer is needed: name one with PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module: install it (on Debian and Ubuntu the package python3-venv)" >&2; exit 1; }
	@echo "Preparing $(VENV) with $$('$(PYTHON)' --version); about a minute, once."
	@'$(PYTHON)' -m venv --clear $(VENV)
	@$(BIN)/pip install -qq --require-hashes -r $(LOCK)
	@$(BIN)/pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

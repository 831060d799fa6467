# Every target works on a clean checkout: what it needs is installed first, into .venv, from the hash-pinned lock.
.DEFAULT_GOAL := help
.PHONY: help setup demo up cluster test check chaos guards format bench lock clean
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
SCALE ?= small
BIN := .venv/bin
# without the developers' tools the smaller lock is enough to run the product
RUNTIME := $(if $(wildcard .venv/.dev),.venv/.dev,.venv/.embedded)
CODE := $(wildcard libs services clients tests bench)
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	--custom-compile-command "make lock" $(UPGRADE) pyproject.toml

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: .venv/.dev ## make .venv with everything that developing needs

demo: $(RUNTIME) ## show the life of a memory, on a private server that is gone afterwards
	@$(BIN)/memoranda demo $(ARGS)

up: $(RUNTIME) ## run Memoranda on this machine: one process, one data folder
	@$(BIN)/memoranda up $(ARGS)

cluster: $(RUNTIME) ## run every service in a process of its own, with a private RabbitMQ
	@$(BIN)/memoranda cluster $(ARGS)

test: .venv/.dev ## run the tests; ARGS="-n 2 tests/store" is handed to pytest
	@$(BIN)/python -m pytest $(ARGS)

check: .venv/.dev ## formatting, lint, types and the import contracts
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/basedpyright $(CODE)
	@$(BIN)/lint-imports --no-logo

chaos: .venv/.dev ## break things at random for ten minutes, and compare; ARGS="--seed 7 --seconds 60"
	@$(BIN)/python -m tests.flow.faults.chaos $(ARGS)

guards: .venv/.dev ## take each guarding line out and see a test fail (3 minutes)
	@$(BIN)/python -m tests.guards $(ARGS)

format: .venv/.dev ## format the code and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix $(CODE) || true
	@$(BIN)/ruff format $(CODE)

bench: .venv/.dev ## measure; SCALE=small (the default) or larger
	@$(BIN)/python -m bench --scale $(SCALE) $(ARGS)

lock: .venv/.dev ## resolve the requirements again; UPGRADE=--upgrade takes newer versions
	@$(COMPILE) --extra dev --output-file requirements/dev.txt
	@$(COMPILE) --extra embedded --extra build --constraint requirements/dev.txt --output-file requirements/embedded.txt

clean: ## remove .venv and everything that was generated
	@rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.%: requirements/%.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Memoranda needs Python 3.11 or newer; " \
		"$(PYTHON) is %d.%d. Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" % v[:2])'
	@test -x $(BIN)/python || { echo "setup: making .venv"; $(PYTHON) -m venv .venv; }
	@echo "setup: installing $$(grep -c '==' $<) packages from $<, about a minute the first time"
	@$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --require-hashes -r $<
	@$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "setup: done"

# Every target does its own set-up. `make help` lists them.
PY   ?= python3
VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Compiled where there is a compiler; without, the program is whole all the same.
COMPILED := src/notbefore/_system_calls.c
# Many tests wait for a process or a second: half as many again as there are processors keep them busy.
TESTERS := $(shell expr $$(nproc) \* 3 / 2)

.PHONY: help setup dev run test lint format parts bench dist proof clean

help:            ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 12

setup: $(VENV)/.ready            ## .venv with the program in it: .venv/bin/notbefore
dev: $(VENV)/.ready-dev          ## the same with what the tests and lints need

$(VENV)/.ready: requirements.txt pyproject.toml $(COMPILED)
	@test -x $(BIN)/python || $(PY) -m venv $(VENV)
	@echo "Installing notbefore into $(VENV) ..."
	@rm -f src/notbefore/*.so
	@$(PIP) install -r requirements.txt
	@$(PIP) install --no-deps --editable .
	@ls src/notbefore/*.so >/dev/null 2>&1 || echo "Without a C compiler or Python's headers: metadata requests take a little longer (docs/how-to/install.md)."
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements-dev.txt
	@echo "Installing what the tests need into $(VENV) ..."
	@$(PIP) install -r requirements-dev.txt
	@touch $@

run: setup       ## serve the demo scope on 127.0.0.1:8254 (metadata) and :8255 (control)
	@$(BIN)/notbefore serve --demo

test: dev        ## every test; a missing part is skipped with its reason, a failure with NOTBEFORE_REQUIRE_PARTS=1
	@$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal $(TESTS)

lint: dev        ## format, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(CC) -std=c11 -fsyntax-only -Wall -Wextra -Wconversion -Werror -isystem $$($(BIN)/python -c \
	  'import sysconfig; print(sysconfig.get_path("include"))') $(COMPILED)

format: dev      ## rewrite the sources in the project's format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

parts:           ## Debian packages for the real parts of the tests (as root)
	@scripts/parts

$(VENV)/.ready-bench: $(VENV)/.ready-dev requirements-bench.txt
	@echo "Installing what the benchmarks compare and plot with into $(VENV) ..."
	@$(PIP) install -r requirements-bench.txt
	@touch $@

bench: $(VENV)/.ready-bench      ## every benchmark, half an hour: benchmarks/RESULTS.md, with plots
	@$(BIN)/python benchmarks/run.py

dist: setup      ## sdist, wheel, notbefore-agent.pyz, man pages and completions in dist/
	@PYTHON=$(BIN)/python scripts/dist dist
	@$(BIN)/python scripts/agent-pyz dist
	@$(BIN)/python scripts/manpages dist/man
	@$(BIN)/python scripts/completions dist/completions

proof: dev       ## the long form: many more random examples and crashes than `make test`
	@NOTBEFORE_PROOF=1 $(BIN)/python -m pytest tests/core tests/e2e tests/hostile tests/control/test_schemathesis.py
	@$(BIN)/notbefore simulate --seeds 2000 --hours 24 --nodes 3 --coverage
	@$(BIN)/python scripts/planted-faults

clean:           ## remove what the targets made
	@rm -rf $(VENV) build dist src/*.egg-info src/notbefore/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Two commands do everything a newcomer needs: `make run` and `make test`.
# Each creates .venv and installs into it first; nothing is needed beforehand but Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_BENCH := $(VENV)/.ready-bench
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test check lint types imports format unit conformance bench bench-memory bench-hostile fuzz lock clean help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | column -t -s '|'

run: $(READY)  ## see feedmill at work on the bundled samples
	@$(BIN)/feedmill parse examples/*.xml examples/*.json

test: $(READY)  ## run every test, in random order, with branch coverage of the pure packages
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered --cov-fail-under=100

check: lint types imports test  ## everything that must be green before a commit

lint: $(READY)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## mypy, strict
	$(BIN)/mypy

imports: $(READY)  ## import-linter: imports point inwards, pure packages touch nothing
	$(BIN)/lint-imports --no-logo

unit: $(READY)  ## the unit tests only
	$(BIN)/python -m pytest tests/unit

format: $(READY)  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

conformance: $(READY)  ## feedparser's own test suite as an outside judge (downloads it)
	$(BIN)/python tools/conformance.py

bench: $(READY_BENCH)  ## speed, as ratios against lxml, feedparser and fastfeedparser in one run
	$(BIN)/python benchmarks/run.py

bench-memory: $(READY_BENCH)  ## memory over 100,000 documents
	$(BIN)/python benchmarks/memory.py

bench-hostile: $(READY_BENCH)  ## time and memory of every attack
	$(BIN)/python benchmarks/hostile.py

fuzz: $(READY_BENCH)  ## hammer the parser for five minutes (SECONDS_EACH=300)
	$(BIN)/python tools/fuzz.py --seconds $(or $(SECONDS_EACH),300)

lock: $(READY)  ## compile requirements*.txt from pyproject.toml
	$(PIP) install --quiet 'pip-tools>=7.4,<8'
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --no-header --extra test --extra lint --output-file requirements.txt pyproject.toml
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --no-header --constraint requirements.txt --extra bench --output-file requirements-bench.txt pyproject.toml

clean:  ## remove what make made
	rm -rf $(VENV) .coverage htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .conformance

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "feedmill needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "no virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Installing into $(VENV) (once) ..."
	@$(PIP) install --quiet --require-hashes -r requirements.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(READY_BENCH): $(READY) requirements-bench.txt
	@$(PIP) install --quiet --require-hashes -r requirements-bench.txt
	@touch $@

# Two commands do everything a newcomer needs: `make run` and `make test`.
# Each creates .venv and installs into it first; nothing is needed beforehand but Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY_RUN := $(VENV)/.ready-run
READY := $(VENV)/.ready
READY_BENCH := $(VENV)/.ready-bench
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run ingest-one-normalized test test-browser xss-check check lint types imports format unit integration coverage conformance bench bench-memory bench-hostile bench-attacks bench-store bench-postgres bench-blobs bench-bus bench-objects bench-claims bench-scheduling bench-fleet bench-mill bench-compare bench-fetcher bench-publisher bench-review bench-console bench-exports bench-screen bench-search fuzz fuzz-scaling soak models mutations power-cuts memory-hour simulation doors-soak chaos bench-doors archive-check media-check bench-push import-check observe-check bench-figures proto dist lock sbom licences audit reproducible clean help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | column -t -s '|'

run: $(READY_RUN)  ## watch feedmill poll living feeds on this machine for a minute, with its console (SECONDS_EACH=60, 0: until Ctrl-C)
	@$(BIN)/feedmill demo --for $(or $(SECONDS_EACH),60)

ingest-one-normalized:  ## take in one feed once and count (FEED_URL=...)
	@if [ -z "$(FEED_URL)" ]; then echo "Provide FEED_URL=..."; exit 1; fi
	@$(MAKE) --no-print-directory $(READY_RUN)
	@echo "Ingesting with normalization..."
	@$(BIN)/feedmill ingest-one --feed-url "$(FEED_URL)"

# The unit tests keep one core busy: the others run beside them, and what the unit tests said is shown when both have ended.
test: $(READY)  ## run every test, in random order
	@trap 'kill $$unit' INT TERM; \
	$(MAKE) --no-print-directory unit >$(VENV)/unit.log 2>&1 & unit=$$!; \
	$(MAKE) --no-print-directory integration; rest=$$?; \
	wait $$unit; unit=$$?; cat $(VENV)/unit.log; exit $$((unit + rest))

# The tests start feedmill hundreds of times: without bytecode each start would compile it again.
# An empty value lets Python keep it where the environment forbids that (many containers do).
unit integration coverage soak doors-soak chaos import-check archive-check media-check: export PYTHONDONTWRITEBYTECODE :=

# Thousands of short tests: handing each to a second process costs more than running it.
unit: $(READY)  ## the unit tests, in one process (JOBS=2 for more)
	$(BIN)/python -m pytest tests/unit -n $(or $(JOBS),0)

# Their processes wait two fifths of the time, for timers and other processes: three for each of two cores keep these busy.
integration: $(READY)  ## contracts, integration and fuzz tests, in JOBS=6 processes
	$(BIN)/python -m pytest tests/contracts tests/integration tests/fuzz -n $(or $(JOBS),6) --dist worksteal

# The browser is the system's; `make test` does not need it.
test-browser: $(READY)  ## the console in a real, headless Chromium, which is installed if it can be
	@tools/install_chromium.sh
	$(BIN)/python -m pytest tests/browser

xss-check: $(READY)  ## every XSS payload in every place of an entry, in a real, headless Chromium
	@tools/install_chromium.sh
	$(BIN)/python -m pytest tests/browser/test_sanitised_bodies.py tests/browser/test_full_texts.py

# Tracing doubles the time, and laws with many examples would take most of it: they are left out.
coverage: $(READY)  ## the plain unit tests once more: they take every branch of the pure packages
	$(BIN)/python -m pytest tests/unit -n $(or $(JOBS),2) -m 'not no_cover' --cov

check: lint types imports test coverage  ## everything that must be green before a commit

lint: $(READY)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## mypy, strict
	$(BIN)/mypy

imports: $(READY)  ## import-linter: imports point inwards, pure packages touch nothing
	$(BIN)/lint-imports --no-logo

format: $(READY)  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

conformance: $(READY)  ## feedparser's own test suite as an outside judge (downloads it), and a corpus (FEEDMILL_CORPUS=folder)
	$(BIN)/python -m tools.conformance

bench: $(READY_BENCH)  ## speed, as ratios against lxml, feedparser and fastfeedparser in one run
	$(BIN)/python -m benchmarks.run

bench-memory: $(READY_BENCH)  ## memory over 100,000 documents
	$(BIN)/python -m benchmarks.memory

bench-hostile: $(READY_BENCH)  ## time and memory of every attack
	$(BIN)/python -m benchmarks.hostile

bench-attacks: $(READY_BENCH)  ## what attackers take from the other feeds of the same process, and its memory
	$(BIN)/python -m benchmarks.neighbours

bench-store: $(READY_BENCH)  ## polls per CPU-second that the store takes
	$(BIN)/python -m benchmarks.store

bench-postgres: $(READY_BENCH)  ## commits per second on PostgreSQL, in groups and one by one
	$(BIN)/python -m benchmarks.postgres_store

bench-blobs: $(READY_BENCH)  ## speed and size of the raw store
	$(BIN)/python -m benchmarks.blobs

bench-objects: $(READY_BENCH)  ## the raw store in a bucket beside the one on local disk
	$(BIN)/python -m benchmarks.objects

bench-bus: $(READY_BENCH)  ## events per second from the log to each bus
	$(BIN)/python -m benchmarks.bus

bench-claims: $(READY_BENCH)  ## claiming with 10,000 to a million feeds on PostgreSQL and SQLite
	$(BIN)/python -m benchmarks.claims

bench-fleet: $(READY_BENCH)  ## polls per second of 1, 2 and 4 workers on one PostgreSQL
	$(BIN)/python -m benchmarks.fleet

bench-mill: $(READY_BENCH)  ## what a poll costs: CPU, WAL and bytes kept, against lemon24's reader (ONLY=304,trickle)
	$(BIN)/python -m benchmarks.mill --only '$(ONLY)'

bench-compare: $(READY_BENCH)  ## the same in turns with another commit (BASE=rev ONLY=304,trickle)
	$(BIN)/python -m benchmarks.mill --base $(or $(BASE),HEAD) --only '$(or $(ONLY),304,mixed,200,trickle)'

bench-fetcher: $(READY_BENCH)  ## requests per CPU-second of the HTTP client
	$(BIN)/python -m benchmarks.fetcher

bench-publisher: $(READY_BENCH)  ## what the test server itself can serve
	$(BIN)/python -m benchmarks.publisher

bench-scheduling: $(READY_BENCH)  ## policies over publication times: make bench-scheduling SERIES=series.json
	$(BIN)/python -m benchmarks.scheduling $(SERIES) --check

bench-doors: $(READY_BENCH)  ## the doors: lists against FastAPI, a million lines, reads beside a busy mill
	$(BIN)/python -m benchmarks.doors

bench-review: $(READY_BENCH)  ## the page of a review with 5,000 candidates in headless Chromium
	$(BIN)/python -m benchmarks.review_page

bench-figures: $(READY_BENCH)  ## polls per CPU-second with the figures of every poll, and without
	$(BIN)/python -m benchmarks.figures

bench-console: $(READY_BENCH)  ## every page of the console with 100,000 feeds and 1,000,000 entries, on one core
	$(BIN)/python -m benchmarks.console

bench-exports: $(READY_BENCH)  ## 1,000,000 entries to every export format: CPU, peak memory, size
	$(BIN)/python -m benchmarks.exports

bench-push: $(READY_BENCH)  ## push on both stores: delay, requests of a day, a dead hub, and 10,000 pings a second of strangers
	$(BIN)/python -m benchmarks.push

bench-search: $(READY_BENCH)  ## sixty labelled questions on both stores: recall, first answers, CPU of a query and of an insert
	$(BIN)/python -m benchmarks.search

bench-screen: $(READY_BENCH)  ## 50,000 candidates by words and by meaning: rate and memory
	$(BIN)/python -m benchmarks.screen

fuzz: $(READY_BENCH)  ## hammer the parser for five minutes (SECONDS_EACH=300)
	$(BIN)/python -m tools.fuzz --seconds $(or $(SECONDS_EACH),300)

fuzz-scaling: $(READY_BENCH)  ## look for input whose reading takes more than linear time
	$(BIN)/python -m tools.scaling --seed $(or $(SEED),1)

soak: $(READY)  ## kill -9 again and again and read the books each time (CYCLES=500)
	$(BIN)/python tools/soak.py --cycles $(or $(CYCLES),500)

power-cuts: $(READY)  ## cut the power in a recorded run and compare the log with what readers were told (CUTS=200)
	$(BIN)/python tools/power_cuts.py --cuts $(or $(CUTS),200)

memory-hour: $(READY)  ## memory, descriptors and event-loop stalls of run and serve with 2,000 feeds and 50 streams (SECONDS_EACH=3600)
	$(BIN)/python -m tools.memory_hour --seconds $(or $(SECONDS_EACH),3600)

simulation: $(READY)  ## a year of 40 feeds in virtual time with faults and crashes, each seed twice (SEEDS=1 FEEDS=40 DAYS=365)
	$(BIN)/python tools/simulation.py --seeds $(or $(SEEDS),1) --feeds $(or $(FEEDS),40) --days $(or $(DAYS),365)

models: $(READY)  ## random histories of a feed and of a hub, compared with models of them (RUNS=5000)
	$(BIN)/python tools/models.py --runs $(or $(RUNS),5000)

mutations: $(READY)  ## break a dozen promises in the source, and see whether a test notices each
	$(BIN)/python tools/mutations.py

archive-check: $(READY)  ## walk an archive of 40 pages, kill it twice in the middle, and see what the host saw (PAGES=40)
	$(BIN)/python tools/archive_check.py --pages $(or $(PAGES),40)

media-check: $(READY)  ## download 200 files with every fault, kill -9 at random, on both stores and with half the room (FILES=200)
	$(BIN)/python tools/media_check.py --files $(or $(FILES),200)

import-check: $(READY)  ## import 10,000 outlines, kill it in the middle, and see what the hosts saw (OUTLINES=10000)
	$(BIN)/python -m tools.import_check --outlines $(or $(OUTLINES),10000)

doors-soak: $(READY)  ## kill the doors, their readers and the writers, and compare the books (SECONDS_EACH=180)
	$(BIN)/python tools/doors_soak.py --seconds $(or $(SECONDS_EACH),180)

chaos: $(READY)  ## five workers on PostgreSQL, NATS and S3: kill, stop and restart everything, then judge what is left (FEEDS=2400)
	$(BIN)/python -m tools.chaos --feeds $(or $(FEEDS),2400)

observe-check: $(READY)  ## rules and dashboards against a real Prometheus that scrapes the demo (needs Debian, or prometheus on the path)
	$(BIN)/python -m tools.observe_check

proto: $(READY)  ## write the Python of proto/ into the gRPC door
	$(BIN)/python -m tools.proto

sbom: $(READY)  ## write dist/feedmill.cdx.json: every locked package with version, licence and hashes (CycloneDX)
	$(BIN)/python tools/sbom.py sbom dist/feedmill.cdx.json

licences: $(READY)  ## write docs/reference/licences.md
	$(BIN)/python tools/sbom.py licences docs/reference/licences.md

audit: $(READY)  ## look for known vulnerabilities of the locked packages; fails when it cannot look
	$(PIP) install --quiet 'pip-audit>=2.7,<3' || true
	$(BIN)/python tools/audit.py

dist: $(READY)  ## build the wheel and the sdist in dist/
	$(BIN)/python -m hatchling build --directory dist
	@echo "install it: pip install dist/feedmill-*.whl (or pipx, or uvx --from)"

reproducible: $(READY)  ## build wheel and sdist twice and compare them byte by byte
	$(BIN)/python tools/reproducible.py

lock: $(READY)  ## compile requirements*.txt from pyproject.toml
	$(PIP) install --quiet 'pip-tools>=7.4,<8'
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-options --no-annotate --no-header --extra test --extra lint --output-file requirements.txt pyproject.toml
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-options --no-annotate --no-header --constraint requirements.txt --extra bench --output-file requirements-bench.txt pyproject.toml
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-options --no-annotate --no-header --constraint requirements.txt --build-deps-for editable --output-file requirements-run.txt pyproject.toml

clean:  ## remove what make made
	rm -rf $(VENV) .coverage htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .conformance

# $(call install,LOCK FILE): pip says what it downloads, so that nobody takes a slow line for a hang.
# A lock file is complete, so pip resolves nothing: pip 23 takes `coverage[toml]` for a package that the list lacks,
# and refuses as soon as a newer release is out.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "feedmill needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "no virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Installing the $$(grep -c == $(1)) packages of $(1) into $(VENV) (once) ..."
	@$(PIP) install --no-deps --require-hashes -r $(1)
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q src
endef

# What feedmill itself needs. The packages of tests, checks and extras are four times as many.
$(READY_RUN): requirements-run.txt pyproject.toml
	$(call install,requirements-run.txt)
	@touch $@

$(READY): requirements.txt pyproject.toml
	$(call install,requirements.txt)
	@touch $(READY_RUN) $@

$(READY_BENCH): $(READY) requirements-bench.txt
	@$(PIP) install --no-deps --require-hashes -r requirements-bench.txt
	@touch $@

# Each target sets up what it needs in a virtual environment of its own.
PYTHON ?= python3
PIP_FLAGS = --quiet --disable-pip-version-check

.PHONY: demo serve console wheel test test-console test-http test-peers test-spark test-versions lint check coverage mutants faults load format bench scale docs paper lock clean

demo: .venv-demo/ready
	.venv-demo/bin/dovetail demo
	.venv-demo/bin/dovetail demo --service

# The web console: from console/ into the package. Needs Node 20.19 or newer, or takes it from the package index.
CONSOLE = src/dovetail/service/console
CONSOLE_SOURCES := $(shell find console -type f -not -path "*/node_modules/*")

console: $(CONSOLE)/index.html

$(CONSOLE)/index.html: $(CONSOLE_SOURCES)
	$(PYTHON) console/build.py build
	touch $@

serve: .venv/ready console
	.venv/bin/dovetail serve $(or $(DATA),adult) --budget $(or $(BUDGET),epsilon=1)

wheel: .venv/ready console
	.venv/bin/python -m hatchling build -d dist
	.venv/bin/python console/wheel.py dist

WORKERS ?= 2

test: lint
	.venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not spark and not browser and not faults"
	@echo "Left out: the Spark suite (make test-spark), the console in a browser (make test-console), requests made from the"
	@echo "OpenAPI (make test-http), faults (make faults), other Pythons and the oldest libraries (make test-versions)."

test-console: .venv-console/ready console
	.venv-console/bin/python console/interface.py
	$(PYTHON) console/build.py types check test
	.venv-console/bin/python console/browser.py
	.venv-console/bin/python -m pytest -q -m browser

lint: .venv/ready
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

check: lint
	.venv/bin/python -m pytest -n $(WORKERS) -q -m "not slow and not spark and not browser and not faults"

coverage: .venv/ready
	.venv/bin/python -m pytest -n 2 -q -m "not spark and not browser and not faults" --cov --cov-report=term:skip-covered

# Mutates what guards privacy, money and intervals: hours, and a folder outside of the repository.
mutants: .venv/ready
	PYTHONPATH=tests .venv/bin/python -m mutants.campaign $(or $(FOLDER),/tmp/dovetail-mutants) --number $(or $(NUMBER),400) $(MORE)

# Kills and starves a service; KILLS=20 is a short campaign. Most of an hour.
faults: .venv/ready
	KILLS=$(or $(KILLS),200) .venv/bin/python -m pytest -n 0 -m faults tests/faults

# Many clients at once, for MINUTES; LEDGER=postgres starts a server.
load: .venv/ready
	.venv/bin/python -m benchmarks.load --clients $(or $(CLIENTS),32) --minutes $(or $(MINUTES),30) --ledger $(or $(LEDGER),sqlite)

format: .venv/ready
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: .venv-bench/ready
	.venv-bench/bin/python -m benchmarks

# Private answers against SQL by hand in every engine, then executors that are killed: half an hour for 100 million rows.
scale: .venv-spark/ready
	.venv-spark/bin/python -m benchmarks.scale --engine duckdb duckdb-file postgresql spark-cluster --rows $(or $(ROWS),10000000)
	.venv-spark/bin/python -m benchmarks.lost_executors --rows $(or $(ROWS),10000000)

test-spark: .venv-spark/ready
	.venv-spark/bin/python -m pytest -q -m spark

# Requests that schemathesis makes from the OpenAPI of a service.
test-http: .venv-fuzz/ready
	.venv-fuzz/bin/python -m pytest -q -m schemathesis

test-versions:
	$(PYTHON) requirements/versions.py

# The page for users of other libraries: its job in each of them. Tumult needs Java.
test-peers:
	$(PYTHON) requirements/peers.py

docs: .venv-docs/ready
	.venv-docs/bin/python docs/build.py

paper: .venv/ready
	.venv/bin/dovetail paper

# One lock file per environment; `make lock` renews them.
.venv/ready: requirements/dev.lock
.venv-demo/ready: requirements/demo.lock
.venv-bench/ready: requirements/bench.lock
.venv-spark/ready: requirements/spark.lock
.venv-docs/ready: requirements/docs.lock
.venv-console/ready: requirements/console.lock
.venv-fuzz/ready: requirements/fuzz.lock

.venv/ready .venv-demo/ready .venv-bench/ready .venv-spark/ready .venv-docs/ready .venv-console/ready .venv-fuzz/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dovetail needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) -r $(filter %.lock,$^)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation -e .
	touch $@

lock:
	$(PYTHON) requirements/lock.py

clean:
	rm -rf .venv .venv-demo .venv-bench .venv-spark .venv-docs .venv-console .venv-fuzz .venv-node .venv-peers dist site out console/node_modules $(CONSOLE)

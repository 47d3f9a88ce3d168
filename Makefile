# Each target sets up what it needs in a virtual environment of its own.
PYTHON ?= python3
PIP_FLAGS = --quiet --disable-pip-version-check

.PHONY: demo test test-spark test-versions lint check coverage format bench docs paper lock clean

demo: .venv-demo/ready
	.venv-demo/bin/dovetail demo

test: lint
	.venv/bin/python -m pytest -n 2 -m "not spark"
	@echo "Left out: the Spark suite (make test-spark), other Pythons and the oldest libraries (make test-versions)."

lint: .venv/ready
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

check: lint
	.venv/bin/python -m pytest -n 2 -q -m "not slow and not spark"

coverage: .venv/ready
	.venv/bin/python -m pytest -n 2 -q -m "not spark" --cov --cov-report=term:skip-covered

format: .venv/ready
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: .venv-bench/ready
	.venv-bench/bin/python -m benchmarks

test-spark: .venv-spark/ready
	.venv-spark/bin/python -m pytest -q -m spark

test-versions:
	$(PYTHON) requirements/versions.py

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

.venv/ready .venv-demo/ready .venv-bench/ready .venv-spark/ready .venv-docs/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dovetail needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) -r $(filter %.lock,$^)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation -e .
	touch $@

lock:
	$(PYTHON) requirements/lock.py

clean:
	rm -rf .venv .venv-demo .venv-bench .venv-spark .venv-docs dist site out

# Every target makes its own environment; nothing is installed twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := 2.13.0
GENERATORS := generators language-generators dp-generators
MUTATION := cosmic-ray==8.7.0 parso==0.8.7 stevedore==5.10.0 attrs==26.1.0

# Tests start hundreds of processes: without its bytecode each would compile the whole package.
export PYTHONDONTWRITEBYTECODE :=

PIP_INSTALL = $(PYTHON) -m venv $(VENV) && $(BIN)/pip install -qq --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-slow coverage test-versions mutants lint format bench peers generators soak prove docs lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: $(VENV)/core.stamp ## audit a model trained on real data, into privacygauge-demo/
	$(BIN)/privacygauge demo --out privacygauge-demo
	@echo "The report is privacygauge-demo/report.html"

test: $(VENV)/dev.stamp ## run the fast tests and the doctests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-long: $(VENV)/dev.stamp ## run the long tests, with fewer games and examples
	$(BIN)/pytest -n 2 --dist worksteal -m slow

test-slow: $(VENV)/dev.stamp ## run all tests in full, the long reproductions too
	PRIVACYGAUGE_TESTS=thorough $(BIN)/pytest -n 2

coverage: $(VENV)/dev.stamp ## show which lines of core and evaluate their fast tests and the laws reach; 95% at least
	OMP_NUM_THREADS=1 nice $(BIN)/coverage run -m pytest -q -m "not slow" tests/core tests/evaluate tests/laws
	$(BIN)/coverage report

test-versions: ## run a small audit and the fast core tests on the newest Python and on the lowest versions
	$(PYTHON) tests/versions.py

mutants: $(VENV)/dev.stamp .mutants/stamp ## change the code in 300 places, and see which changes no test notices
	OMP_NUM_THREADS=1 nice $(BIN)/python tests/mutants.py $(MUTANTS)

lint: $(VENV)/dev.stamp ## check style, format, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --always-false _LIKE_A_RESULT
	$(BIN)/lint-imports

format: $(VENV)/dev.stamp ## mend style and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/dev.stamp ## hold every hot path against what is used today, in one table
	$(BIN)/python bench

peers: ## install the libraries that bench compares with, into .peers/
	$(PYTHON) bench/peers/make.py

generators: ## run the generators of other packages (SDV, CTGAN, REaLTabFormer, MST, ...), in environments of their own
	$(PYTHON) bench/peers/make.py $(GENERATORS)
	@set -e; for name in $(GENERATORS); do \
	PYTHONPATH=src .peers/$$name/bin/python -m pytest -q -p no:cacheprovider -k is_a_generator \
	    tests/tables/generators/test_adapters.py tests/tables/test_related.py; done

soak: $(VENV)/dev.stamp ## load, kill, fuzz and flood a scoring server for five minutes, on this machine alone
	$(BIN)/python bench/soak.py
	PRIVACYGAUGE_TESTS=thorough $(BIN)/pytest -q tests/leaderboards/server/test_fuzz.py

prove: $(VENV)/dev.stamp ## search worlds of known truth for wrong verdicts, 20 minutes on two cores; PROVE="--domain tables"
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.proving --processes 2 $(PROVE)

docs: $(VENV)/dev.stamp ## build the documentation into docs/_build/html; warnings are errors
	$(BIN)/sphinx-build -W -n -d docs/_build/doctrees docs docs/_build/html

lock: ## write constraints.txt anew from the newest versions
	@set -e; lock=$$(mktemp -d); trap 'rm -rf "$$lock"' EXIT; \
	$(PYTHON) -m venv "$$lock/venv"; \
	echo "torch==$(TORCH)" > "$$lock/torch.txt"; \
	"$$lock/venv/bin/pip" install -qq --constraint "$$lock/torch.txt" '.[dev]'; \
	{ echo "# Every version as tested on Python 3.11; written by \`make lock\`."; \
	  "$$lock/venv/bin/pip" freeze --exclude privacygauge | sed 's/^\(torch==.*\)+.*/\1/'; \
	} > "$$lock/constraints.txt"; \
	cp "$$lock/constraints.txt" constraints.txt

clean: ## remove what the other targets made
	rm -rf $(VENV) .versions .mutants .coverage privacygauge-demo build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Apart from the environment: nothing else needs them, and pip would resolve them anew.
.mutants/stamp: $(VENV)/dev.stamp
	$(BIN)/pip install -qq --no-deps --upgrade --target .mutants $(MUTATION)
	@touch $@

$(VENV)/core.stamp: pyproject.toml constraints.txt
	$(PIP_INSTALL) .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt
	$(PIP_INSTALL) '.[dev]'
	@touch $(VENV)/core.stamp $@

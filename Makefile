# The front door. Every target sets up what it needs; the first run takes a minute or so.
#   make demo             JupyterLab on the first notebook (no key needed)
#   make demo HEADLESS=1  the same notebook, executed without a browser
#   make test             the whole suite          make check   static checks
#   make bench            ratios against baselines make lock    renew requirements/dev.txt
#   make local-model      the tests that need a real local model (130 MB, once)
SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup system demo test check bench build local-model lock clean

help:
	@sed -n '2,6s/^# *//p' $(MAKEFILE_LIST)

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml scripts/find_python.sh
	@echo "Setting up $(VENV) (once)"
	@set -e; python="$$(scripts/find_python.sh)"; \
	  "$$python" -m venv "$(VENV)"; \
	  "$(BIN)/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt; \
	  "$(BIN)/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch "$(STAMP)"

system:
	@scripts/install_system.sh

demo: $(STAMP)
	@"$(BIN)/mewcode-nb" demo $(if $(HEADLESS),--headless) $(ARGS)

test: $(STAMP) system
	@"$(BIN)/python" -m pytest -n auto --dist loadgroup --no-loadscope-reorder $(ARGS)

check: $(STAMP)
	@"$(BIN)/ruff" check .
	@"$(BIN)/ruff" format --check .
	@"$(BIN)/mypy"
	@"$(BIN)/lint-imports" --no-cache

bench: $(STAMP)
	@"$(BIN)/python" -m benchmarks $(ARGS)

local-model: $(STAMP)
	@scripts/local_model.sh "$(BIN)/python" $(ARGS)

build: $(STAMP)
	@scripts/check_wheel.sh "$(BIN)/python"

lock:
	@scripts/lock.sh

clean:
	@rm -rf "$(VENV)" .venv-local artifacts build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

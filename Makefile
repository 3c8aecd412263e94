# `make demo` and `make test` need Python 3.11 to 3.14 and nothing else: they set up .venv first, and only once.

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 2
LOCK ?=

# A stamp says that .venv was set up from just these lock files, in just this place.
KEY := $(shell { cat requirements.lock requirements-dev.lock pyproject.toml; pwd; } | cksum | tr ' ' -)
RUN := .venv/run-$(KEY)
DEV := .venv/dev-$(KEY)
WARM := .venv/warm-$(KEY)
ROOMS := columns index matching space spread words
KERNELS := src/tidings/kernels.py $(wildcard $(ROOMS:%=src/tidings/%/*.py) $(ROOMS:%=src/tidings/%/*/*.py))

MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.PHONY: help setup demo test lint type bench docs ci lock mutants crash clean always

help: ## List these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1~\2/p' Makefile | awk -F '~' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: $(DEV) $(WARM) ## Set up .venv and compile the kernels (every command below does it when it is due)
	@echo "Ready: .venv is set up and the kernels are compiled."

demo: $(RUN) $(WARM) ## Show it at work
	@$(BIN)/tidings demo

test: $(DEV) $(WARM) ## Run all tests but those of the documentation (TIDINGS_SEED=number sets the seed)
	$(PYTEST) --ignore tests/docs --numprocesses $(WORKERS) --dist loadfile

lint: $(DEV) ## Check style, format and which room imports which
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python $(BIN)/lint-imports

type: $(DEV) ## Check types
	$(BIN)/python -m mypy

bench: $(DEV) $(WARM) ## Measure `within` against its floors, in a small form
	@mkdir -p out
	$(BIN)/tidings bench within --subscriptions 20000 --messages 5000 --chart out/within.png

docs: $(DEV) $(WARM) ## Run every command and snippet of the documentation
	$(PYTEST) tests/docs

ci: lint type test docs ## Do all that must hold before a change goes in (.ci/run is exactly this)

lock: $(DEV) ## Pin all dependencies anew (LOCK=--upgrade takes the newest of each)
	$(COMPILE) --group build --output-file requirements.lock
	$(COMPILE) --group dev --constraint requirements.lock --output-file requirements-dev.lock

mutants: $(DEV) $(WARM) ## See whether the tests notice faults put into the code
	$(BIN)/python -m tests.mutants

crash: $(DEV) $(WARM) ## Kill the pipeline again and again, and see whether its deliveries are the same
	$(BIN)/python -m tests.crash

clean: ## Remove .venv and all that was built
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist out
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# The lock files say what, never from where: they hold on any machine, whatever its pip is configured to ask.
COMPILE := $(BIN)/uv pip compile pyproject.toml --extra spark --extra kafka --quiet --universal \
	--python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links $(LOCK)

# PySpark is the one that comes as sources only. What builds it is pinned too, so it is installed first and used as it is.
BUILDER := sed -n '/^setuptools==/,/\# via/p' requirements.lock
INSTALL := $(PIP) install --require-hashes --only-binary :all:
BUILDING := --no-binary pyspark --no-build-isolation --use-pep517

# A .venv whose Python is gone or has changed is made anew, from PYTHON=… or the first python3 that will do.
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
define VENV
$(BIN)/python -c 'import pip; $(FITS)' 2>/dev/null || { \
	bare=; for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if "$$python" -c '$(FITS)' 2>/dev/null; then \
			"$$python" -c 'import ensurepip, venv' 2>/dev/null && break; bare=$$python; \
		fi; python=; \
	done; \
	if test "$$python"; then rm -rf .venv && "$$python" -m venv .venv; \
	elif test "$$bare"; then echo "$$bare cannot make a virtual environment because its modules venv and ensurepip\
	are missing: install them (on Debian and Ubuntu they are the package python3-venv)." >&2; exit 1; \
	else echo 'Tidings needs Python 3.11, 3.12, 3.13 or 3.14, and $(or $(PYTHON),python3) is none of them: install\
	one, or name it with PYTHON=/path/to/python3.' >&2; exit 1; fi; }
endef

$(RUN): $(if $(wildcard $(BIN)/python),,always)
	@$(VENV)
	@rm -f .venv/run-* .venv/dev-* .venv/warm-*
	@$(BUILDER) > .venv/builder.lock
	$(INSTALL) --requirement .venv/builder.lock
	$(INSTALL) $(BUILDING) --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(RUN)
	$(INSTALL) $(BUILDING) --requirement requirements-dev.lock
	@touch $@

$(WARM): $(RUN) $(KERNELS)
	$(BIN)/tidings doctor --warm
	@touch $@

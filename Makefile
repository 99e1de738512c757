# tinyjax: `make learn` and `make test` do all their own set-up, with Python >= 3.11 and make only.
#
#   make learn     a demonstration of a few seconds, then the chapters in JupyterLab
#   make test      lint, format, types and every test
#   make check     lint, format, types and the tests of the core: a minute or two (for while you work)
#   make api-table       which of JAX's names exist here (docs/coverage.md)
#   make oracle-examples  how many examples of JAX docstrings run here (MODULES=numpy.fft ...)
#   make accuracy  errors of functions and reductions, in ulp (docs/accuracy.md; some minutes)
#   make bench     the same programs on tinyjax and on JAX, timed in turn (NAMES="start pmap_call" ...)
#   make chapters  run every chapter and store its outputs (NAMES="00 04", CHANGED=1)
#   make site      the documentation site in site/        make serve  look at it while you write
#   make lock      choose new versions of everything we install (requirements.lock)
#   make clean     remove what make and the tests have made
#
# Another Python: make learn PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JOBS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help learn test check lint oracle-examples api-table accuracy bench chapters site serve lock clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -n 15

# --- Set-up: one stamp per extra, so that a second run neither downloads nor installs ------------

define set_up # $(1): the extras to install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "tinyjax needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)"; \
	echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
@$(RUN) -m pip --version >/dev/null 2>&1 || { \
	echo "==> Making a virtual environment in $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
@echo "==> Installing tinyjax[$(1)] as requirements.lock says (once; a minute or two)"
$(RUN) -m pip install --quiet --constraint requirements.lock setuptools
$(RUN) -m pip install --constraint requirements.lock --no-build-isolation --editable '.[$(1)]'
@pwd > $@
endef

# A checkout that was moved is set up again: scripts and the editable install hold its old path.
MOVED := $(shell for s in $(VENV)/.learn $(VENV)/.test; do \
	if [ -f $$s ] && [ "$$(cat $$s)" != "$$(pwd)" ]; then echo moved; fi; done)
ifneq ($(MOVED),)
$(shell rm -rf $(VENV))
endif

$(VENV)/.learn: pyproject.toml requirements.lock
	$(call set_up,learn)

$(VENV)/.test: pyproject.toml requirements.lock
	$(call set_up,test)
	@pwd > $(VENV)/.learn

# --- The two commands -----------------------------------------------------------------------------

learn: $(VENV)/.learn
	@$(RUN) -m tinyjax.learn.demo
	@$(RUN) -m tinyjax.learn learn

# Every step runs, whatever fails before it; one failure fails the command.
LINT := "ruff check . exercises/*/answers/*.py" "ruff format --check . exercises/*/answers/*.py" "mypy"
PYTEST := pytest -n $(JOBS) --dist worksteal
run_all = @failed=0; for step in $(1); do echo "==> $$step"; $(RUN) -m $$step || failed=1; done; exit $$failed

test: $(VENV)/.test
	$(call run_all,$(LINT) "$(PYTEST) --durations 15")

CORE := architecture source printer jit mission config tree_util check_jaxpr messages custom_rules project
check: $(VENV)/.test
	$(call run_all,$(LINT) "$(PYTEST) -q -m not(slow) $(CORE:%=tests/test_%.py)")

lint: $(VENV)/.test
	$(call run_all,$(LINT))

# --- Measures ---------------------------------------------------------------------------------------

oracle-examples: $(VENV)/.test
	$(RUN) -m tests.oracle_examples $(MODULES)

api-table: $(VENV)/.test
	$(RUN) -m tests.api_table

accuracy: $(VENV)/.test
	$(RUN) -m tests.accuracy_table

bench: $(VENV)/.test
	$(RUN) -m benchmarks $(NAMES)

# --- What is made from the sources ----------------------------------------------------------------

chapters: $(VENV)/.test
	$(RUN) -m tinyjax.learn.chapters --jobs $(JOBS) $(if $(CHANGED),--changed) $(NAMES)

site: $(VENV)/.test
	$(RUN) -m mkdocs build --strict

serve: $(VENV)/.test
	$(RUN) -m mkdocs serve

lock: $(VENV)/.test
	$(RUN) -m pip install --quiet uv
	$(RUN) -m uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--upgrade --no-header --no-annotate --no-emit-package tinyjax --output-file requirements.lock

clean:
	rm -rf $(VENV) site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

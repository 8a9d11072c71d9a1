# mindspore_rnnt: `make demo` and `make test` set everything up on a fresh machine.
PYTHON ?= python3
ROOT := $(CURDIR)
TEST_ENV := $(ROOT)/.venv-test
DEMO_ENV := $(ROOT)/.venv-demo
LINT_ENV := $(ROOT)/.venv-lint
RUNS ?= $(ROOT)/runs
PYTEST_ARGS ?=
CXX_SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.cc')

.PHONY: help demo test smoke lint format evaluate bench ascend clean

help:
	@echo "make demo      venv, install, train the tiny Conformer-Transducer, show what it learned"
	@echo "make test      venv, install, all tests"
	@echo "make smoke     a one-minute training that must learn (CI runs it)"
	@echo "make lint      ruff and clang-format, as CI runs them; 'make format' mends"
	@echo "make evaluate  the long table: by voice, with and without noise training, 3 seeds"
	@echo "make bench     speed and memory against torchaudio and a plain stream"
	@echo "make ascend    build and install the Ascend operator package (needs CANN)"

# $(call install,<venv>,<extras>): the project as a user installs it, never editable.
define install
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check "$(ROOT)[$(2)]"
endef

demo:
	$(call install,$(DEMO_ENV),demo)
	mkdir -p $(RUNS) && cd $(RUNS) && $(DEMO_ENV)/bin/python -m mindspore_rnnt.recipe demo --config tiny.yaml --output $(RUNS)/demo

# The tests run from an empty folder, so that they see the installed package and not the source tree.
test:
	$(call install,$(TEST_ENV),test)
	cd $$(mktemp -d) && $(TEST_ENV)/bin/python -m pytest -c $(ROOT)/pyproject.toml --rootdir $(ROOT) $(ROOT)/tests $(PYTEST_ARGS)

smoke:
	$(call install,$(TEST_ENV),test)
	mkdir -p $(RUNS) && cd $(RUNS) && $(TEST_ENV)/bin/python -m mindspore_rnnt.recipe train --config smoke.yaml --output $(RUNS)/smoke

lint:
	test -x $(LINT_ENV)/bin/python || $(PYTHON) -m venv $(LINT_ENV)
	$(LINT_ENV)/bin/python -m pip install --quiet --disable-pip-version-check ruff==0.14.0 clang-format==19.1.7
	$(LINT_ENV)/bin/ruff check $(ROOT)
	$(LINT_ENV)/bin/ruff format --check $(ROOT)
	$(LINT_ENV)/bin/clang-format --dry-run --Werror $(CXX_SOURCES)

format:
	$(LINT_ENV)/bin/ruff check --fix $(ROOT)
	$(LINT_ENV)/bin/ruff format $(ROOT)
	$(LINT_ENV)/bin/clang-format -i $(CXX_SOURCES)

evaluate:
	$(call install,$(DEMO_ENV),demo)
	mkdir -p $(RUNS) && cd $(RUNS) && $(DEMO_ENV)/bin/python -m mindspore_rnnt.recipe evaluate --full --config tiny.yaml --output $(RUNS)/evaluate

bench:
	$(call install,$(TEST_ENV),test)
	mkdir -p $(RUNS) && cd $(RUNS) && $(TEST_ENV)/bin/python -m mindspore_rnnt bench --config $(ROOT)/configs/bench.yaml --output $(RUNS)/bench

ascend:
	$(PYTHON) -m aot_build.build_ascend

clean:
	rm -rf $(ROOT)/build $(ROOT)/dist $(ROOT)/*.egg-info $(TEST_ENV) $(DEMO_ENV) $(LINT_ENV)

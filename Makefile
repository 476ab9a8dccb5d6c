# Everything a newcomer needs; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CRATES := -p ackclock-core -p ackclock-run -p ackclock-sim -p ackclock-capture -p ackclock-emu -p ackclock-proxy -p ackclock-get

.PHONY: help build demo test kernel-vt-test bench lint docs instructions fuzz clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.installed: constraints-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r constraints-dev.txt
	touch $@

build: $(VENV)/.installed  ## create .venv with the release extension; then .venv/bin/ackclock is the command
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet > /dev/null
	cargo build --quiet --profile program -p ackclock-emu -p ackclock-get
	cargo build --quiet --release -p ackclock-proxy
	install target/program/ackclock-emu target/release/ackclock-proxy target/program/ackclock-get $(BIN)

demo: build      ## three controllers on a long fat pipe: table, Parquet and figure in results/demo
	rm -rf results/demo
	$(BIN)/ackclock run scenarios/high-bdp.toml --out results/demo --plot

test: build      ## all tests: Rust, Python, conformance
	cargo test --quiet $(CRATES)
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not real_time" python/tests conformance
	$(BIN)/python -m pytest -m real_time python/tests

kernel-vt-test: build  ## runs on a kernel in virtual time, which is built if there is none (minutes): see docs/engines.md
	$(BIN)/ackclock kernel build
	$(BIN)/python -m pytest -n auto --dist loadfile python/tests/kernel_vt.py python/tests/kernel_vt_options.py python/tests/kernel_vt_shell.py python/tests/kernel_vt_measure.py python/tests/kernel_vt_get.py python/tests/kernel_vt_proxy.py
	$(BIN)/python -m pytest --engine kernel-vt python/tests/test_kernel_timed.py

bench: build     ## speed and memory against ns-3 and ns-2, where they are installed
	$(BIN)/python benches/bench.py

instructions:    ## instructions per packet against the committed baseline (needs valgrind)
	cargo build --quiet --release -p ackclock-sim --example dumbbell --example play
	cargo build --quiet --release -p ackclock-capture --example analyse
	$(PYTHON) benches/instructions.py

fuzz:            ## FUZZ_S seconds (20) of hostile input for each target of fuzz/, beginning with its corpus
	bash scripts/fuzz.sh

lint: $(VENV)/.installed  ## formatting, clippy, ruff, mypy, architecture rules
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python conformance benches scripts contrib
	$(BIN)/ruff format --check python conformance benches scripts contrib
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/architecture.py

docs: build      ## regenerate what is generated: schema, CLI reference, validation page
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/validation.py

clean:           ## remove what was built
	rm -rf $(VENV) target results

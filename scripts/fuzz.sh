#!/usr/bin/env bash
# Plays the fuzz targets: fuzz.sh [TARGET...], FUZZ_S seconds for each (20), a line for each. New inputs stay in
# target/fuzz/corpus; what fails is kept in target/fuzz/found and ends the script. `cargo fuzz run TARGET` works as well where it
# and a nightly compiler are.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(reader codec analyser endpoint)
host=$(rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz asks of the compiler without a sanitizer: the stable one has it too.
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags="$flags -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks --cfg fuzzing"
RUSTFLAGS="$flags" cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir target/fuzz
mkdir -p target/fuzz/found
for target in "${targets[@]}"; do
  mkdir -p "target/fuzz/corpus/$target"
  log="target/fuzz/$target.log"
  if ! "target/fuzz/$host/release/$target" -max_total_time="${FUZZ_S:-20}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="target/fuzz/found/$target-" \
    "target/fuzz/corpus/$target" "fuzz/corpus/$target" > "$log" 2>&1; then
    tail -n 40 "$log"
    echo "fuzz: $target fails; the input is in target/fuzz/found" >&2
    exit 1
  fi
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  reached=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  echo "fuzz: $target: $inputs inputs without a failure, $reached edges reached"
done

#!/usr/bin/env bash
# Plays the fuzz targets: fuzz.sh [TARGET...], a line for each.
#
# Without FUZZ_S the inputs are drawn with one seed from fuzz/corpus: FUZZ_RUNS (a number that takes about 20 s) of them, the same
# ones for the same tree on every machine. So a change fails by what it changed, and what passes here passes elsewhere.
# With FUZZ_S each target explores for so many seconds with a seed of its own (FUZZ_SEED chooses it); new inputs stay in
# target/fuzz/corpus. What fails is kept in target/fuzz/found, is printed in base64, and ends the script.
# `cargo fuzz run TARGET` works as well where it and a nightly compiler are.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(reader codec analyser endpoint)
declare -A runs=([reader]=800000 [codec]=4000000 [analyser]=200000 [endpoint]=200000)
host=$(rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz asks of the compiler without a sanitizer: the stable one has it too.
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags="$flags -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks --cfg fuzzing"
# The order of the functions in the program steers libFuzzer, and cargo derives it from the path of the checkout, too: the same
# place for every checkout of this user.
place="${TMPDIR:-/tmp}/ackclock-fuzz-$(id -u)"
mkdir -p "$place"
exec 9> "$place/lock"
flock 9  # one checkout after the other
rm -rf "$place/crates" "$place/fuzz"
cp -a Cargo.toml crates fuzz "$place"
RUSTFLAGS="$flags" cargo build --quiet --release --manifest-path "$place/fuzz/Cargo.toml" --target "$host" --target-dir "$place/target"
mkdir -p target/fuzz/found
for target in "${targets[@]}"; do
  log="target/fuzz/$target.log"
  still=()
  if [ -n "${FUZZ_S:-}" ]; then
    mkdir -p "target/fuzz/corpus/$target"
    how=("-max_total_time=$FUZZ_S" "-seed=${FUZZ_SEED:-0}" "target/fuzz/corpus/$target" "fuzz/corpus/$target")
  else
    drawn=$(mktemp -d)  # libFuzzer writes new inputs into the first folder: a second play must not begin with them
    trap 'rm -rf "$drawn" "$drawn.inputs"' EXIT
    # The addresses of functions, which differ from run to run otherwise, choose among the values that libFuzzer tries.
    still=(setarch --addr-no-randomize)
    "${still[@]}" true || { echo "fuzz: setarch cannot fix addresses here; FUZZ_S=20 explores without" >&2; exit 2; }
    printf '%s,' "fuzz/corpus/$target"/* | sed 's/,$//' > "$drawn.inputs"  # a folder lists its files in an order of its own
    how=("-runs=${FUZZ_RUNS:-${runs[$target]}}" -seed=1 -reload=0 "-seed_inputs=@$drawn.inputs" "$drawn")
  fi
  found="target/fuzz/found/$target-"
  before=$(find target/fuzz/found -name "$target-*" | sort)
  if ! "${still[@]}" "$place/target/$host/release/$target" "${how[@]}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$found" > "$log" 2>&1; then
    grep -n -m 1 -A 30 -e panicked -e "ERROR: libFuzzer" "$log" | cut -c -400 || tail -n 40 "$log"
    for input in $(comm -13 <(echo "$before") <(find target/fuzz/found -name "$target-*" | sort)); do
      echo "fuzz: $input, $(stat -c %s "$input") bytes, in base64:"
      base64 -w 120 "$input" | head -n 200
    done
    echo "fuzz: $target fails; the input is in target/fuzz/found" >&2
    exit 1
  fi
  [ -n "${FUZZ_S:-}" ] || rm -rf "$drawn" "$drawn.inputs"
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  reached=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  echo "fuzz: $target: $inputs inputs without a failure, $reached edges reached"
done

#!/usr/bin/env bash
# A kernel in virtual time for .ci/run: `kernel_vt.sh build` makes it, beside other work, `kernel_vt.sh test [FILE...]` plays on it.
# Where the computer cannot do that at all (another architecture, no ptrace, no sources to be had) this says NOT TESTED and why.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH=python  # the build needs no extension, so that it may run beside that of the project
python=.venv/bin/python
not_here() {
  [ "$(uname -m)" = x86_64 ] || { echo "kernels in virtual time are for x86_64, this is $(uname -m)"; return; }
  "$python" -c 'from ackclock.virtual import guest; print(guest.forbidden() or "", end="")'
  [ "${1:-}" = with-packages ] || return 0
  "$python" -c 'from ackclock.virtual import build; print("; ".join(build.missing()), end="")'
  compgen -G "/usr/src/linux-source-6.12.tar.*" > /dev/null || echo "there is no package linux-source-6.12 here"
}
case "${1:-}" in
  build)
    if [ -z "$(not_here)" ] && [ -n "$(not_here with-packages)" ]; then
      apt-get update -qq || true
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev make flex bison bc patch perl binutils xz-utils \
        libelf-dev linux-source-6.12 > /dev/null || true
    fi
    why=$(not_here with-packages)
    if [ -n "$why" ]; then echo "$why" >&2; exit 3; fi
    nice -n 19 "$python" -m ackclock kernel build
    ;;
  test)
    why=$(not_here with-packages)
    if [ -n "$why" ]; then
      echo "NOT TESTED: runs on a kernel in virtual time (python/tests/kernel_vt.py): $why"
      exit 0
    fi
    make build
    "$python" -m ackclock kernel build
    shift
    [ $# -gt 0 ] || set -- python/tests/kernel_vt*.py
    # The figures of the how-to page are of one build of a kernel, and a patched one takes minutes: make test-kernel-vt plays it.
    "$python" -m pytest -n auto --dist worksteal "$@" -k "not page_runs"
    "$python" -m pytest --engine kernel-vt python/tests/test_kernel_timed.py
    ;;
  *)
    echo "usage: kernel_vt.sh build | test [FILE...]" >&2
    exit 2
    ;;
esac

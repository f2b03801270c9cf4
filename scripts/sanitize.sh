#!/usr/bin/env bash
# The core's tests against a core built with AddressSanitizer and UndefinedBehaviorSanitizer.
# Needs Linux, gcc or clang, and the environment that scripts/test.py leaves behind. Arguments are handed to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv-test/bin/python
[ -x "$python" ] || { echo "sanitize: run 'python3 scripts/test.py' first, it makes $python" >&2; exit 2; }

rm -rf build/sanitized
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target build/sanitized . \
  -Cbuild-dir=build/sanitizer -Ccmake.define.CUTWISE_SANITIZE=ON -Ccmake.define.CUTWISE_WERROR=ON -Cinstall.strip=false

# Python itself is not instrumented, so the run-time library has to be there before it; and Python's own arenas would hide
# overruns, and what it keeps until exit would be reported as leaks.
preload=$("${CXX:-c++}" -print-file-name=libasan.so)
case "$preload" in /*) ;; *) echo "sanitize: ${CXX:-c++} has no libasan.so; on Debian: apt-get install libasan8" >&2; exit 2 ;; esac
# libstdc++ beside it: AddressSanitizer looks up the function behind `throw` when it starts, and Python has none to offer.
export LD_PRELOAD="$preload $("${CXX:-c++}" -print-file-name=libstdc++.so.6)" PYTHONMALLOC=malloc OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONPATH="$PWD/build/sanitized"

"$python" - <<'PY'
import pathlib
import cutwise.core._core as core
assert "sanitized" in core.__file__, core.__file__
assert b"__asan_init" in pathlib.Path(core.__file__).read_bytes(), "the core was not built with AddressSanitizer"
PY
if [ $# -eq 0 ]; then
  # Forked children are left to the other run: AddressSanitizer's allocator may be locked by another thread while a process
  # forks, and the child then waits for it for ever. So are counts of memory: AddressSanitizer keeps what was freed for a while.
  # What drives the core: its kernels directly, and by whole fits of every estimator.
  set -- tests/core tests/contract/test_invariances.py -n auto --dist worksteal -m "not slow" -k "not fork and not holds_few_tables"
fi
exec "$python" -m pytest "$@"

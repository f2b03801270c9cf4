#!/usr/bin/env bash
# What leans on other packages, tested with the oldest supported version of every dependency, on the oldest supported Python.
# Arguments are handed to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${PYTHON_OLDEST:-python3.11}
"$base" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || {
  echo "test_oldest: needs Python 3.11 (set PYTHON_OLDEST to it)" >&2
  exit 2
}
python=.venv-oldest/bin/python
[ -x "$python" ] || "$base" -m venv .venv-oldest
"$python" -m pip install --quiet --disable-pip-version-check "pip>=25.1" uv
# CUTWISE_WHEEL: a wheel built already, to save the compiler's time.
"$python" -m uv pip install --quiet --python "$python" --config-settings=build-dir=build/oldest "${CUTWISE_WHEEL:-.}" --group test --constraint scripts/oldest.txt
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Left out: the core, trees and proofs, which use NumPy alone, and the pages, which show what current versions print.
if [ $# -eq 0 ]; then
  set -- tests/table tests/reference tests/readouts tests/estimators tests/contract tests/baselines tests/plot tests/report \
    tests/cli tests/test_package.py -n auto --dist worksteal -m "not slow"
fi
exec "$python" -m pytest "$@"

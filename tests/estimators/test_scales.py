"""Scalers in front of a model, and columns that outweigh all others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from cutwise import ExplainableKMeans, explain_pipeline
from cutwise.exceptions import InvalidInputError, ScaledColumnsWarning, UnsupportedInputError

LOG = FunctionTransformer(np.log1p, np.expm1)
X = load_wine(as_frame=True).data


@pytest.mark.parametrize(
    "steps", [[StandardScaler()], [MinMaxScaler()], [RobustScaler()], [MaxAbsScaler()], [LOG, StandardScaler()]]
)
def test_a_pipeline_is_explained_in_the_columns_that_came_in_row_by_row(steps):
    pipeline = make_pipeline(*steps, ExplainableKMeans(4, max_leaves=7, random_state=0)).fit(X)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(X), pipeline.predict(X))
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.score(X) == pytest.approx(pipeline.score(X))
    # Thresholds are in the units of the table, between the same neighboring rows.
    tree, scaled = model.tree_, pipeline[-1].tree_
    for node in np.flatnonzero(tree.feature >= 0):
        column = X.iloc[:, tree.feature[node]]
        assert column.min() <= tree.threshold[node] < column.max()
        assert len(repr(float(tree.threshold[node]))) < 10
    np.testing.assert_array_equal(scaled.n_node_samples, tree.n_node_samples)


def test_steps_that_mix_columns_stay_in_front():
    pipeline = make_pipeline(PCA(3, random_state=0), StandardScaler(), ExplainableKMeans(3, random_state=0)).fit(X)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(pipeline[:1].transform(X)), pipeline.predict(X))
    with pytest.raises(InvalidInputError, match="already in the columns"):
        explain_pipeline(make_pipeline(PCA(2), ExplainableKMeans(3)).fit(X))
    with pytest.raises(InvalidInputError, match="does not increase"):
        explain_pipeline(
            make_pipeline(FunctionTransformer(np.negative, np.negative), ExplainableKMeans(3)).fit(X.to_numpy())
        )
    with pytest.raises(UnsupportedInputError, match="fitted Pipeline"):
        explain_pipeline(ExplainableKMeans(3))


def test_scaled_columns_of_a_frame_are_named_and_verbose_names_a_column_that_holds_the_cost(capsys):
    scaled = pd.DataFrame(StandardScaler().fit_transform(X), columns=X.columns)
    with pytest.warns(ScaledColumnsWarning, match="explain_pipeline"):
        ExplainableKMeans(3, random_state=0).fit(scaled)
    ExplainableKMeans(3, random_state=0, verbose=1).fit(X)
    assert "column 'proline' holds 9" in capsys.readouterr().err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ExplainableKMeans(3, random_state=0).fit(scaled.to_numpy())
        ExplainableKMeans(3, random_state=0, preprocessor=StandardScaler(), verbose=1).fit(X)
    assert "holds" not in capsys.readouterr().err

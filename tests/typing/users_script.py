"""What a user's editor and type checker make of cutwise: mypy and pyright read this file, nothing runs it."""

from typing import assert_type

import numpy as np

import cutwise
from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians
from cutwise.readouts.rules import Rules

X = np.random.default_rng(0).normal(size=(100, 3))
model = assert_type(ExplainableKMeans(3, algorithm="imm", expansion="expand").fit(X), ExplainableKMeans)
assert_type(model.rules(), Rules)
assert_type(model.cost_ratio_, float)
assert_type(cutwise.export_sql(model, dialect="snowflake", form="view"), str)
ClusterExplainer(algorithm="spex").fit(X, model.predict(X)).explain(X)
ExplainableKMedians(3, depth_penalty="auto").fit(X)
ExplainableKernelKMeans(3, kernel="rbf", cuts="threshold").fit(X)
cutwise.load_model("model.json").predict(X)
cutwise.load_model("model.json").rules().to_frame()

# What is misspelled is underlined while it is typed.
ExplainableKMeans(3, algorithm="exgredy")  # type: ignore[arg-type]
ExplainableKMeans(3, expansion="none")  # type: ignore[arg-type]
ClusterExplainer(algorithm="optimal")  # type: ignore[arg-type]
cutwise.export_sql(model, dialect="postgresql")  # type: ignore[arg-type]

"""Explainable k-means as a stage of pyspark.ml; the fitted model assigns clusters by one SQL expression, in the JVM."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import estimators
from cutwise.estimators import export_sql, load_model
from cutwise.exceptions import InvalidInputError, MissingDependencyError, did_you_mean, listed

try:
    from pyspark import keyword_only
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasFeaturesCol, HasInputCols, HasPredictionCol, HasSeed, HasWeightCol
    from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
    from pyspark.sql import functions
except ImportError as error:
    raise MissingDependencyError.of("pyspark", purpose="cutwise.spark", extra="spark") from error

__all__ = ["ExplainableKMeans", "ExplainableKMeansModel"]


class _Columns(HasInputCols, HasFeaturesCol, HasPredictionCol, DefaultParamsReadable, DefaultParamsWritable):
    """The columns of a stage: those of ``inputCols`` or, if that is not set, the elements of a vector column."""

    def _check(self, dataset: Any, needed: Sequence[str]) -> None:
        """Refuse a frame that lacks columns, or has the prediction column already; Spark ignores the case of names."""
        there, added = {name.casefold() for name in dataset.columns}, self.getPredictionCol()
        if added.casefold() in there:
            raise InvalidInputError(
                f"The frame has a column {added!r} already, and clusters would go there. Give another name: "
                'predictionCol="cluster".'
            )
        vectors = self.getFeaturesCol()
        if not self.isSet("inputCols"):
            is_field = "." in vectors or "`" in vectors  # of a struct column, which is not among dataset.columns
            needed = [*needed, *([] if is_field else [vectors])]
        if missing := [name for name in needed if name.casefold() not in there]:
            given = "" if self.isSet("inputCols") else " Name those to cluster on: inputCols=[...]."
            raise InvalidInputError(
                f"The frame has no column {listed(missing)}.{did_you_mean(missing[0], dataset.columns)} Its columns "
                f"are {listed(dataset.columns, most=20)}.{given}"
            )

    def _select(self, dataset: Any, elements: list[int]) -> dict[str, Any]:
        """The columns of a frame by their names in rules; ``elements``: indices into the vector column."""
        if self.isSet("inputCols"):
            return {name: functions.col(f"`{name.replace('`', '``')}`") for name in self.getInputCols()}
        values = vector_to_array(functions.col(self.getFeaturesCol()))
        return {f"{self.getFeaturesCol()}[{i}]": values[i] for i in elements}


class ExplainableKMeans(Estimator, _Columns, HasWeightCol, HasSeed):
    """Cluster the rows of a Spark frame and explain the clusters by a small tree, the same as for these rows in memory.

    Parameters
    ----------
    inputCols : list of str, default=None
        The numeric columns to cluster on, without missing values. Rules name them.
    featuresCol : str, default="features"
        A column of vectors, used if ``inputCols`` is not set. Rules name its elements ``features[0]`` and so on.
    predictionCol : str, default="prediction"
        The column that ``transform`` adds.
    weightCol : str, default=None
        A column of integers: how often each row counts.
    k : int, default=8
        How many clusters.
    maxLeaves : int, default=None
        The most leaves of the tree; None means k.
    algorithm : str, default="search"
        How the tree is grown; see :class:`cutwise.ExplainableKMeans`.
    seed : int, default=0
        The same seed and rows give the same result, whatever the partitions and the order of the rows.
    """

    k = Param(Params._dummy(), "k", "how many clusters", TypeConverters.toInt)
    maxLeaves = Param(Params._dummy(), "maxLeaves", "leaves at most", TypeConverters.toInt)  # noqa: N815
    algorithm = Param(Params._dummy(), "algorithm", "how the tree is grown", TypeConverters.toString)

    @keyword_only
    def __init__(
        self,
        *,
        inputCols: list[str] | None = None,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        weightCol: str | None = None,
        k: int = 8,
        maxLeaves: int | None = None,
        algorithm: str = "search",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._setDefault(k=8, algorithm="search", seed=0)
        self._set(**self._input_kwargs)

    def _fit(self, dataset: Any) -> ExplainableKMeansModel:
        weight = self.getWeightCol() if self.isSet("weightCol") else None
        inputs = self.getInputCols() if self.isSet("inputCols") else []
        self._check(dataset, inputs if weight is None else [*inputs, weight])
        n = 0 if self.isSet("inputCols") else dataset.select(self.getFeaturesCol()).first()[0].size
        columns = self._select(dataset, list(range(n)))
        rows = dataset.select(
            *(column.alias(name) for name, column in columns.items()), *([] if weight is None else [weight])
        )
        model = estimators.ExplainableKMeans(
            self.getOrDefault("k"),
            max_leaves=self.getOrDefault("maxLeaves") if self.isSet("maxLeaves") else None,
            algorithm=self.getOrDefault("algorithm"),
            random_state=self.getSeed(),
        ).fit(rows, sample_weight=weight)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model.json"))
            document = Path(folder, "model.json").read_text(encoding="utf-8")
        return self._copyValues(ExplainableKMeansModel()._set(document=document))  # type: ignore[no-any-return]


class ExplainableKMeansModel(Model, _Columns):
    """The model that :class:`ExplainableKMeans` fits; ``transform`` adds each row's cluster, null without a value.

    Attributes
    ----------
    fitted : cutwise.ExplainableKMeans
        The cutwise model, with rules, figures and exports.
    """

    document = Param(Params._dummy(), "document", "the model file, as JSON", TypeConverters.toString)

    @property
    def fitted(self) -> Any:
        """The cutwise model, with rules, figures and exports."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "model.json").write_text(self.getOrDefault("document"), encoding="utf-8")
            return load_model(Path(folder, "model.json"))

    def clusterCenters(self) -> list[npt.NDArray[np.float64]]:  # noqa: N802 - as pyspark names it
        """The centers of the tree's clusters."""
        return list(self.fitted.cluster_centers_)

    def _transform(self, dataset: Any) -> Any:
        fitted = self.fitted
        label = functions.expr(export_sql(fitted, dialect="spark", form="case"))
        tested, by_name = fitted.tree_.tested.tolist(), self.isSet("inputCols")
        self._check(dataset, [fitted.feature_names_in_[i] for i in tested if by_name])
        elements = {} if by_name else self._select(dataset, tested)
        frame = dataset.select("*", *(column.alias(name) for name, column in elements.items()))
        return frame.withColumn(self.getPredictionCol(), label).drop(*elements)

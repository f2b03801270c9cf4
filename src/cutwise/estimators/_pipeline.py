"""A pipeline that ends in a model, explained in the columns before its scalers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from cutwise.estimators._base import TreeEstimator, fitted
from cutwise.exceptions import InvalidInputError, UnsupportedInputError
from cutwise.table.table import NUMBER, ColumnKind
from cutwise.tree.growing import choose_threshold, place_threshold


def explain_pipeline(pipeline: Any) -> TreeEstimator:
    """The model at the end of a pipeline, with rules about the columns before the pipeline's scalers.

    ``make_pipeline(StandardScaler(), ExplainableKMeans())`` clusters scaled columns, and its rules are about scaled
    columns. The model returned here has rules in the columns and units of the pipeline's input. To get such rules
    directly, give the scaler as ``preprocessor`` of the estimator.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Fitted; its last step is a model of cutwise. The steps right before the model are undone as long as they treat
        columns one by one and can be inverted: StandardScaler, RobustScaler, MaxAbsScaler, MinMaxScaler without
        ``clip``, a FunctionTransformer with an increasing function and its inverse, and a ColumnTransformer of such
        steps that gives no column to two of them. Earlier steps are not undone: the rules are about their output.
        A function has to increase over all numbers for which it is defined, and not only over those of fit.

    Returns
    -------
    model : estimator of cutwise
        A fitted copy. Each threshold lies between the same two neighboring rows of fit, at the number with the fewest
        digits. It places every row as the pipeline does, but for values between these two, which no row of fit has.

    Raises
    ------
    UnsupportedInputError
        Not a pipeline that ends in a fitted model of cutwise.
    InvalidInputError
        No step in front of the model can be undone, or a function that does not increase everywhere, that mixes
        columns, or whose inverse is another's.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from cutwise import ExplainableKMeans, explain_pipeline
    >>> X = pd.DataFrame({"age": [23, 25, 31, 62, 64, 70], "income": [18.0, 21.5, 20.0, 40.0, 38.5, 41.0]})
    >>> pipeline = make_pipeline(StandardScaler(), ExplainableKMeans(2, random_state=0)).fit(X)
    >>> print(explain_pipeline(pipeline).rules())
    cluster 0 (3 rows, 50.0 %; purity 100 %, coverage 100 %): age <= 50
    cluster 1 (3 rows, 50.0 %; purity 100 %, coverage 100 %): age > 50
    """
    if not isinstance(pipeline, Pipeline):
        raise UnsupportedInputError(
            f"explain_pipeline takes a fitted Pipeline whose last step is a model, not {type(pipeline).__name__}."
        )
    model = fitted(pipeline.steps[-1][1], "explain_pipeline", "Give a pipeline that ends in one.")
    if model._gaps is None:
        raise InvalidInputError("The model's tree was edited: fit the pipeline again.")
    undone = _last_invertible([step for _, step in pipeline.steps[:-1]])
    if not undone:
        raise InvalidInputError(
            "No step right in front of the model takes columns one by one and can be undone: its rules are already in "
            "the columns that it is given. For rules about other columns, give the steps as its preprocessor."
        )
    tree, kinds, names = model.tree_, model._columns_of_fit().kinds, getattr(undone[0], "feature_names_in_", None)
    inner = tree.feature >= 0
    columns = _ColumnsBefore.of(undone, tree.feature[inner], model.n_features_in_, model._is_float32)
    source, n_before, gaps = columns.source, columns.n_before, model._gaps[inner]
    ends, is_whole = columns.unscale_whole(gaps)
    elementary = [own for step in undone for own in _elementary(step)]
    if any(isinstance(own, FunctionTransformer) and own.func is not None for own in elementary):
        columns.check_increasing(ends, kinds, names)
    threshold, lower = tree.threshold.copy(), tree.lower.copy()
    for node, (a, b, c, d), whole in zip(np.flatnonzero(inner).tolist(), ends.tolist(), is_whole.tolist(), strict=True):
        kind = kinds[tree.feature[node]]
        if kind.name in ("date", "duration"):
            threshold[node] = place_threshold(a, b, kind)
        elif np.isfinite(a):  # a set of levels has no ends
            threshold[node] = choose_threshold(a, b, whole and math.ceil(a) < b)
        if np.isfinite(lower[node]):
            lower[node] = choose_threshold(c, d, whole and math.ceil(c) < d)
    feature, kinds_before = tree.feature.copy(), np.full(n_before, NUMBER, dtype=object)
    feature[inner], kinds_before[source] = source[feature[inner]], kinds
    explained = copy(model)
    explained.n_features_in_, explained._kinds = n_before, tuple(kinds_before)
    explained.tree_ = replace(tree, feature=feature, threshold=threshold, lower=lower, n_features=n_before)
    explained._gaps = np.full((len(inner), 4), np.nan)
    explained._gaps[inner] = ends
    if model._column_spreads is not None:
        explained._column_spreads = columns.unscale_spreads(model._column_spreads, gaps)
    explained._imm_applies = False  # distances are measured in other columns than those that are cut
    # Costs are still measured in the same space.
    own = getattr(model, "preprocessor_", None)
    scaling = undone[0] if len(undone) == 1 else Pipeline([(f"step{i}", step) for i, step in enumerate(undone)])
    space = scaling if own is None else Pipeline([("scaling", scaling), ("preprocessor", own)])
    explained.preprocessor_ = explained.preprocessor = space
    explained._remember_params()
    explained.__dict__.pop("feature_names_in_", None)  # steps may have given names to columns that had none
    if names is not None:
        explained.feature_names_in_ = np.asarray(names, dtype=object)
    return explained


def _last_invertible(steps: Sequence[Any]) -> list[Any]:
    """The steps at the end that can be undone, without those that do nothing."""
    first = len(steps)
    while first and all(map(_is_invertible, _elementary(steps[first - 1]))):
        first -= 1
    return [step for step in steps[first:] if step not in (None, "passthrough")]


def _elementary(step: Any) -> list[Any]:
    """Scalers and functions of a step, and a ColumnTransformer itself where two of its parts share a column."""
    from sklearn.compose import ColumnTransformer

    if step is None or step == "passthrough":
        return []
    if isinstance(step, Pipeline):
        return [own for _, part in step.steps for own in _elementary(part)]
    if not isinstance(step, ColumnTransformer):
        return [step]
    parts = _parts(step, 0)
    taken = [column for _, before, _ in parts for column in before]
    found = [own for part, _, _ in parts for own in _elementary(part)]
    return found if len(set(taken)) == len(taken) else [*found, step]


def _is_invertible(step: Any) -> bool:
    """Whether an elementary step treats columns one by one and can be inverted."""
    if isinstance(step, FunctionTransformer):
        return step.func is None or step.inverse_func is not None
    if isinstance(step, MinMaxScaler):
        return not step.clip
    return isinstance(step, StandardScaler | RobustScaler | MaxAbsScaler)


def _parts(step: Any, d: int) -> list[tuple[Any, Sequence[int], npt.NDArray[Any]]]:
    """Transformers of a step with ``d`` output columns, each with the indices of its input and output columns."""
    from sklearn.compose import ColumnTransformer

    if not isinstance(step, ColumnTransformer):
        return [(step, range(d), np.arange(d))]
    before, after = step._transformer_to_input_indices, step.output_indices_
    return [
        (FunctionTransformer() if part == "passthrough" else part, before[name], np.arange(d)[after[name]])
        for name, part, _ in step.transformers_
        if part != "drop" and len(before[name])
    ]


@dataclass(frozen=True, eq=False)
class _ColumnsBefore:
    """The input columns of scaling steps with d output columns, which m tests cut.

    ``feature`` (m,): the output column of each test. ``source`` (d,): the input column of each output column.
    ``ahead``, ``back``: functions that scale values of the tests, shape (m,), and their inverse; ``scale``: one that
    scales tables of some columns, given with their numbers before and after scaling.
    """

    feature: npt.NDArray[Any]
    source: npt.NDArray[np.intp]
    n_before: int
    ahead: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
    back: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
    scale: Callable[[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]], npt.NDArray[np.float64]]
    is_float32: bool

    @classmethod
    def of(cls, steps: Sequence[Any], feature: npt.NDArray[Any], d: int, is_float32: bool) -> _ColumnsBefore:
        """Read fitted steps; ``is_float32``: whether rows are float32, so that steps round to float32."""
        source, widest = np.arange(d), d
        ahead: list[Any] = []
        back: list[Any] = []
        for step in reversed(steps):
            parts, own = _parts(step, d), np.zeros(d, dtype=np.intp)
            for _, before, after in parts:
                own[after] = before
            source, d = own[source], getattr(step, "n_features_in_", d)
            widest = max(widest, d)
            ahead.insert(0, [(part.transform, before, after) for part, before, after in parts])
            back.append([(part.inverse_transform, after, before) for part, before, after in parts])
        m, dtype = np.arange(len(feature)), np.float32 if is_float32 else np.float64

        def along(route: Any, rows: Any, start: Any, end: Any, values: npt.NDArray[np.float64]) -> Any:
            table = np.ones((len(values), widest), dtype=dtype)
            # Steps fitted with column names warn about rows without them, and scalers refuse the logarithm of 0.
            with (
                warnings.catch_warnings(action="ignore"),
                np.errstate(all="ignore"),
                config_context(assume_finite=True),
            ):
                table[rows, start] = values
                for stage in route:
                    given, table = table, np.ones_like(table)
                    for transform, before, after in stage:
                        try:
                            table[:, after] = transform(given[:, before])
                        except (AttributeError, TypeError, IndexError, KeyError) as error:
                            raise InvalidInputError(
                                f"A function in front of the model takes no array: {error}. Give one that takes arrays "
                                "too, or leave it out."
                            ) from error
            return table[rows, end].astype(np.float64)

        routes = partial(along, ahead, m, source[feature], feature), partial(along, back, m, feature, source[feature])
        return cls(feature, source, d, *routes, partial(along, ahead, slice(None)), is_float32)

    def unscale_whole(self, gaps: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """``unscale_gaps``, with integers as ends in columns of integers; and whether each test has such a column."""
        ends = self.unscale_gaps(gaps)
        integers = np.rint(ends)
        is_exact = self.scale_to(integers, gaps)  # scalers round, so an end may miss the value of a row
        # The other end may be a center, so one whole end of two suffices for a column of integers.
        has_integer = is_exact[:, :2].any(axis=1) & (np.isnan(ends[:, 2]) | is_exact[:, 2:].any(axis=1))
        is_whole = ~np.isin(self.feature, self.feature[~has_integer])
        return np.where(is_exact & is_whole[:, np.newaxis], integers, ends), is_whole

    def unscale_gaps(self, gaps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Gaps (m, 4) before scaling: largest values scaled to at most a lower end, smallest to at least an upper."""
        ends = np.full_like(gaps, np.nan)
        for j in range(4):
            known = np.isfinite(gaps[:, j])
            if not known.any():
                continue
            goal = np.where(known, gaps[:, j], 0.0)
            near = self.back(goal)
            apart = (1e-3 if self.is_float32 else 1e-6) * (
                np.abs(near) + np.nan_to_num(np.abs(self.back(goal + 1.0) - near))
            ) + 1e-300
            low, high = near - apart, near + apart
            at_low, at_high = self._ahead_near(near, low), self._ahead_near(near, high)
            # Strict on one side, since no inverse tells the ends of a range that a function rounds to one number.
            between = (at_low <= goal) & (goal < at_high) if j % 2 == 0 else (at_low < goal) & (goal <= at_high)
            if not (between & ~np.isnan(self.ahead(near)))[known].all():
                raise InvalidInputError(
                    "A step in front of the model does not increase with its column alone, or its inverse does not "
                    "undo it. Leave it out."
                )
            # Until no float lies between: an inverse that grows fast, such as sinh(exp(x)), leaves a wide range.
            while ((low < (middle := low / 2 + high / 2)) & (middle < high)).any():
                scaled = self._ahead_near(near, middle)
                goes_up = scaled <= goal if j % 2 == 0 else scaled < goal
                low, high = np.where(goes_up, middle, low), np.where(goes_up, high, middle)
            end = low if j % 2 == 0 else high
            ends[:, j] = np.where(known, end.astype(np.float32) if self.is_float32 else end, gaps[:, j])
        return ends

    def _ahead_near(self, near: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Scaled values, shape (m,); beyond the domain of a function, such as a root, they are infinite."""
        scaled = self.ahead(values)
        return np.where(np.isnan(scaled), np.where(values < near, -np.inf, np.inf), scaled)

    def scale_to(self, values: npt.NDArray[np.float64], gaps: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Mask of the values, shape (m, 4), that are scaled exactly to the ends of the gaps."""
        scaled = np.column_stack([self.ahead(np.nan_to_num(of_end)) for of_end in values.T])
        return np.asarray(np.isfinite(values) & (scaled == gaps))

    def check_increasing(self, ends: npt.NDArray[np.float64], kinds: Sequence[ColumnKind], names: Any) -> None:
        """Raise an error for a column that is not scaled by an increasing function of it alone.

        Only values of functions are known: at numbers around the ends of the gaps, at numbers of all sizes, and at
        codes such as -1 and 999. Rows have them in another order for each column, so that a column that depends on
        another one does not increase either.
        """
        has_gaps = np.array([kinds[j].has_gaps for j in self.feature.tolist()], dtype=bool)
        # A function that is not defined for some numbers must not make them missing, where only that is tested either.
        outputs, rng = np.unique(self.feature[np.isfinite(ends).any(axis=1) | has_gaps]), np.random.default_rng(0)
        sizes, codes = np.logspace(-30, 30, 1201), np.arange(-1000.0, 10001.0)
        grid = np.empty((2001 + 4 * len(sizes) + len(codes), len(outputs)))
        for i, j in enumerate(outputs):
            own = ends[self.feature == j]
            low, high = (np.nanmin(own), np.nanmax(own)) if np.isfinite(own).any() else (0.0, 1.0)
            around, apart = np.linspace(3 * low - 2 * high, 3 * high - 2 * low, 2001), (high - low) * sizes
            grid[:, i] = rng.permutation(np.concatenate([around, low - apart, high + apart, sizes, -sizes, codes]))
        blocks = np.array_split(grid, 1 + len(grid) * self.n_before // 10**7)
        scaled = np.concatenate([self.scale(self.source[outputs], outputs, block) for block in blocks])
        for i, j in enumerate(outputs):
            order = grid[:, i].argsort()
            values, images = grid[order, i], scaled[order, i]
            if not kinds[j].has_gaps:  # the pipeline refuses values for which a function is not defined
                values, images = values[~np.isnan(images)], images[~np.isnan(images)]
            images = np.clip(images, -1e300, 1e300)
            rounding = (1e-5 if self.is_float32 else 1e-12) * (1 + np.abs(images[:-1]))
            if len(falls := values[1:][~(images[1:] >= images[:-1] - rounding)]):
                name = f"column {self.source[j]}" if names is None else repr(names[self.source[j]])
                raise InvalidInputError(
                    f"A step in front of the model does not increase with {name} alone over all numbers: not at "
                    f"{falls[len(falls) // 2]:.3g}.\nGive it a function that does, such as the square of "
                    "np.maximum(x, 0), or leave it out."
                )

    def unscale_spreads(
        self, spreads: npt.NDArray[np.float64], gaps: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Spreads of the input columns from spreads of the scaled ones; near the first cut if a step is not linear."""
        found, own = np.full(self.n_before, np.nan), spreads[self.feature]
        both = (self.back(gaps[:, 0] + own) - self.back(gaps[:, 0] - own)) / 2
        found[self.source[self.feature[::-1]]] = [float(f"{spread:.6g}") for spread in both[::-1]]
        return found

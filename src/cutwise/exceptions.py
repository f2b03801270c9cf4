"""Every error and warning cutwise raises on purpose; each says what was given, what is needed and the next step.

::

    CutwiseError (Exception)
    ├── InvalidInputError (ValueError)           data, labels, weights or a parameter that cannot be used
    │   ├── UnsupportedInputError (TypeError)    a container or a kind of value that is not a table of numbers
    │   │   └── NotNumericError                  text, dates, categories in a column that must hold numbers
    │   ├── NotFiniteError                       NaN, null or infinity
    │   │   └── MissingValueError                NaN or null
    │   ├── DistanceOverflowError                values too large for distances in float64
    │   ├── ColumnMismatchError                  other columns than those of fit, or of another kind
    │   ├── ChangedDataError                     a table in batches whose rows changed between passes
    │   ├── UnknownOptionError                   a word that is not one of the valid options
    │   ├── InfeasibleLimitsError                limits that leave a cluster without a leaf
    │   ├── ModelFileError                       a saved model that cannot be read
    │   └── DataSetUnavailableError              a data set of the papers that cannot be had
    └── MissingDependencyError (ImportError)     an optional package that is not installed

    CutwiseWarning (UserWarning)
    ├── ColumnNamesWarning                       names on one side only, at fit or at predict
    ├── UnseparableCentersWarning                centers no cut can separate
    ├── EmptyClusterWarning                      a cluster that ended without rows
    ├── NotPositiveDefiniteWarning               a kernel under which a squared distance is below 0
    ├── LargeIntegersWarning                     integers that float64 cannot tell from their neighbors
    ├── IdentifierWarning                        columns that only name or number rows
    ├── DominantColumnWarning                    one column that holds nearly all of the cost
    ├── ScaledColumnsWarning                     rules in the units of a scaler in front
    └── UnknownLevelsWarning                     levels of a category that were never seen at fit

Catch ``CutwiseError`` for all of them, or the built-in parents (``ValueError``, ``TypeError``, ``ImportError``) as with
scikit-learn. The class methods write the messages, so that one mistake reads the same wherever it is made; instances
can be pickled.
"""

from __future__ import annotations

import difflib
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Self

__all__ = [
    "ChangedDataError", "ColumnMismatchError", "ColumnNamesWarning", "CutwiseError", "CutwiseWarning",
    "DataSetUnavailableError", "DistanceOverflowError", "DominantColumnWarning", "EmptyClusterWarning",
    "IdentifierWarning", "InfeasibleLimitsError", "InvalidInputError", "LargeIntegersWarning", "MissingDependencyError",
    "MissingValueError", "ModelFileError", "NotFiniteError", "NotNumericError", "NotPositiveDefiniteWarning",
    "ScaledColumnsWarning", "UnknownLevelsWarning", "UnknownOptionError", "UnseparableCentersWarning",
    "UnsupportedInputError", "did_you_mean", "listed", "optional_package", "shown", "warn",
]  # fmt: skip


def shown(value: object) -> str:
    """``repr`` of a value on one line, shortened if it is long."""
    given = repr(value)
    return given if len(given) <= 60 and "\n" not in given else " ".join(reprlib.repr(value).split())


def listed(items: Iterable[object], *, most: int = 5, write: Callable[[object], str] = repr) -> str:
    """``'a', 'b' and 3 more``: at most ``most`` items, each as Python writes it or as ``write`` does, on one line."""
    shown = [" ".join(write(item).split()) for item in items]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most} more"
    return ", ".join(shown)


def did_you_mean(given: object, valid: Iterable[str]) -> str:
    """A sentence that names the valid word nearest to the given one, or an empty string when none is near.

    Spelling is compared without case, and a word may be cut short (``"poly"``); ``" Did you mean 'imm'?"`` starts with
    a space, ready to be appended.
    """
    if not isinstance(given, str):
        return ""
    by_folded, word = {word.casefold(): word for word in valid}, given.casefold()
    near = [known for known in by_folded if len(word) > 2 and known.startswith(word)]
    near = near or difflib.get_close_matches(word, list(by_folded), n=1)
    return f" Did you mean {by_folded[near[0]]!r}?" if near else ""


def warn(warning: Warning) -> None:
    """Issues a warning at the user's line: the nearest caller outside this package and its context managers."""
    level, frame = 2, sys._getframe(1)
    own = (__name__.partition(".")[0], "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


class CutwiseError(Exception):
    """Parent of every error raised on purpose."""


class InvalidInputError(CutwiseError, ValueError):
    """Data, labels, weights or a parameter that cannot be used as given."""

    def with_next_step(self, step: str) -> Self:
        """The error with another next step."""
        return type(self)(f"{str(self).partition(chr(10))[0]}\n{step}".rstrip())


class InfeasibleLimitsError(InvalidInputError):
    """A node has no cut within the limits that leads every cluster to a leaf; cuts above it may be the reason."""


class ChangedDataError(InvalidInputError):
    """A table in batches that gave other rows in another pass."""

    @classmethod
    def between(cls, first: int, now: int) -> Self:
        """The error for different numbers of rows in the first pass and in another."""
        return cls(
            f"X had {first:,} rows in the first pass over it and {now:,} in another"
            + (", which hold other values" if now == first else "")
            + f". {_KEEP}"
        )

    @classmethod
    def of(cls, found: str) -> Self:
        """The error for a difference found in another pass."""
        return cls(f"X changed between two passes over it: {found}. {_KEEP}")


_KEEP = "Keep its source unchanged during the fit (persist() in Spark and Dask), or write it to Parquet."


class UnsupportedInputError(InvalidInputError, TypeError):
    """A container, or a kind of value, that is not a table of numbers."""


class NotNumericError(UnsupportedInputError):
    """A column that must hold numbers holds something else."""

    @classmethod
    def in_column(
        cls,
        *,
        what: str,
        column: str,
        kind: str,
        value: object,
        row: int,
        takes: str = "numbers",
        n_values: int = 1,
        like: Sequence[str] = (),
        drop: bool = True,
    ) -> NotNumericError:
        """A column of text, dates, categories and the like.

        Parameters
        ----------
        what : str
            The argument's name, such as ``"X"``.
        column : str
            The column as messages call it, such as ``"column 'city'"``.
        kind : str
            Its contents: ``"text"``, ``"dates"``, ...
        value, row : object, int
            The first value that is not a number, and its row, counted from 0.
        takes : str
            Contents that columns may have.
        n_values : int
            Known number of such values.
        like : sequence of str
            Every column with such values, by name; empty when the columns have no names.
        drop : bool
            Whether to propose leaving such columns out.
        """
        # numpy's own repr would say np.str_('a') and np.datetime64('2020-01-01').
        try:
            given = repr(value)
        except NotImplementedError:  # pandas shows no times of the years 0 and 10000, where clocks of a zone have them
            given = f"a {type(value).__name__}"
        if type(value).__module__ == "numpy":
            given = str(value) if hasattr(value, "dtype") and value.dtype.kind in "mM" else repr(str(value))
        given = given if len(given) <= 60 else given[:57] + "..."
        message = f"{what} must hold {takes}, but {column} holds {kind}: {given} in row {row} (rows are counted from 0)"
        if n_values > 1:
            message += f", and {n_values - 1} more such cell{'s' if n_values > 2 else ''}"
        message += "."
        if len(like) > 1:
            message += f" {len(like)} columns are like that: {listed(like)}."
        message += f"\n{_TO_NUMBERS.get(kind, 'Turn it into numbers').format(given)}"
        if drop:
            message += ", or leave it out"
            if like:
                option = f"--drop {like[0]}" if len(like) == 1 else "--drop"
                message += f": {what}.drop(columns=[{listed(like, most=99)}]) in pandas, {option} on the command line"
        return cls(message + ".")


class NotFiniteError(InvalidInputError):
    """A table, labels or weights hold NaN, null or infinity."""

    @classmethod
    def in_column(
        cls, *, what: str, column: str, row: int, missing: bool, n_values: int, n_columns: int
    ) -> NotFiniteError:
        """The first missing or infinite value of a table; ``n_values`` and ``n_columns`` count those of its kind."""
        kind = "NaN" if missing else "infinity"
        subject = what[0].upper() + what[1:] if " " in what else f"Input {what}"
        message = f"{subject} contains {kind}: {column}, row {row} (rows are counted from 0)"
        if n_values > 1:
            message += f"; {n_values} such values in {n_columns} column{'s' if n_columns > 1 else ''}"
        if what in ("K", "costs", "centers", "init"):
            return (MissingValueError if missing else cls)(f"{message}.\nGive finite numbers alone.")
        if missing:
            return MissingValueError(
                f"{message}.\nFill them in (for instance with sklearn.impute.SimpleImputer or cutwise.TableScaler), "
                "or drop those rows or columns."
            )
        return cls(f"{message}.\nReplace them by finite numbers, or drop those rows or columns.")


class MissingValueError(NotFiniteError):
    """A table holds NaN or null where it must not."""


class DistanceOverflowError(InvalidInputError):
    """Values are so large that distances between rows, or their squares, are beyond float64."""


class ColumnMismatchError(InvalidInputError):
    """A table has other columns than the one the model was fitted on, or one that holds values of another kind."""

    @classmethod
    def of_names(
        cls,
        fitted: Sequence[str],
        given: Sequence[str],
        tested: Sequence[str] | None = None,
        *,
        model: str = "model",
        ways: tuple[str, str] | None = None,
    ) -> ColumnMismatchError:
        """Columns renamed, missing, added or in another order, in scikit-learn's words.

        ``tested``: columns that are needed; None for all. ``ways``: how to select columns of a table, and where their
        names are; None: as in pandas.
        """
        message, owner = "The feature names should match those that were passed during fit.\n", "model"
        if model != "model":
            message, owner = f"{model}: the columns of X should be those that it was fitted on.\n", "reference"
        there, needed = set(given), set(fitted if tested is None else tested)
        unseen, missing = sorted(there - set(fitted)), sorted(needed - there)
        if unseen:
            message += "Feature names unseen at fit time:\n" + _bullets(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _bullets(missing)
        order = [name for name in fitted if name in there]
        if not unseen and order != list(given):
            first = next(i for i, (a, b) in enumerate(zip(order, given, strict=True)) if a != b)
            message += (
                "Feature names must be in the same order as they were in fit.\n"
                f"The first that differs is column {first}: {given[first]!r} now, {order[first]!r} at fit time.\n"
            )
        if missing and tested is not None and not unseen:
            message += f"The tree uses {listed(name for name in tested if name in missing)}.\n"
        names, (give, own) = f"{owner}.feature_names_in_", ways or ("X[{}]", "X.columns")
        names = f"list({names})" if there.union(missing).issuperset(fitted) else f"[n for n in {names} if n in {own}]"
        lead = "Add what is missing, and pass" if missing else "Pass"
        return cls(f"{message}{lead} the columns of fit, in their order and under their names: {give.format(names)}.")

    @classmethod
    def of_count(cls, *, given: int, fitted: int, estimator: str, names: Sequence[str] = ()) -> ColumnMismatchError:
        """Another number of columns than at fit, in scikit-learn's words."""
        message = f"X has {given} features, but {estimator} is expecting {fitted} features as input."
        if names:
            message += f" Those of fit were {listed(names, most=10)}."
        return cls(message)


class UnknownOptionError(InvalidInputError):
    """A parameter that takes one of a few words was given another."""

    @classmethod
    def of(cls, name: str, value: object, valid: Sequence[object]) -> UnknownOptionError:
        """A list of the valid options, and the nearest: ``algorithm='im' is not a valid option. Use one of ...``."""
        words = [word for word in valid if isinstance(word, str)]
        use = f"Use {'one of ' if len(valid) > 1 else ''}{listed(valid, most=99)}."
        joint = " " if name.startswith("-") or name.isupper() else "="  # as it is written on the command line
        return cls(f"{name}{joint}{shown(value)} is not a valid option. {use}{did_you_mean(value, words)}")


class ModelFileError(InvalidInputError):
    """A saved model cannot be read: not one of ours, damaged, or written by a newer version."""


class DataSetUnavailableError(InvalidInputError):
    """A data set of the papers that is not there and cannot be fetched, or holds other values than theirs."""

    @classmethod
    def of(
        cls, name: str, *, folder: object | None, can_be_fetched: bool, failure: str = ""
    ) -> DataSetUnavailableError:
        """Says where it was looked for, why it could not be fetched, and where to put it."""
        looked = "no data folder was given" if folder is None else f"{folder} has no {name}.npz"
        fetched = f"fetching it failed ({failure})" if failure else "it was not fetched"
        fetched = fetched if can_be_fetched else "it cannot be fetched"
        step = "Fetch it with network=True, or put" if can_be_fetched and not failure else "Put"
        return cls(
            f"The data set {name!r} is not available: {looked}, and {fetched}.\n{step} {name}.npz (an array X with its "
            "rows) into a folder and name the folder: data=..., or the environment variable CUTWISE_DATA."
        )


class MissingDependencyError(CutwiseError, ImportError):
    """An optional package is needed and is not installed."""

    @classmethod
    def of(cls, package: str, *, purpose: str, extra: str | None = None) -> MissingDependencyError:
        """``Reading Parquet files needs pyarrow, which is not installed. Install it: pip install "cutwise[files]"``."""
        target = f'"cutwise[{extra}]"' if extra else package
        return cls(f"{purpose} needs {package}, which is not installed. Install it: pip install {target}")


def optional_package(package: str, purpose: str, extra: str) -> Any:
    """Import a package that is not always installed; ``purpose``, ``extra``: for the error where it is missing."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError.of(package, purpose=purpose, extra=extra) from error


class CutwiseWarning(UserWarning):
    """Parent of every warning raised on purpose."""


class ColumnNamesWarning(CutwiseWarning):
    """Only one of the fitted table and the given one has column names, so the order alone matches them."""


class IdentifierWarning(CutwiseWarning):
    """Columns that name or number rows, or hold nothing: they say nothing of what rows are like."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> IdentifierWarning:
        """Says of each column why; those that number rows are used all the same."""
        more = f"; and {len(lines) - 8} more" if len(lines) > 8 else ""
        steps = []
        if any("numbers the rows" in line for line in lines):
            steps.append("Leave out what only names rows.")
        if any("written as text" in line for line in lines):
            steps.append("Make a column of dates of them (pandas.to_datetime).")
        if any("different texts" in line for line in lines):
            steps.append("Make numbers of amounts ('$12.50'). To use texts, name their column in categorical_features.")
        return cls(" ".join([f"{'; '.join(lines[:8])}{more}.", *steps]))


class ScaledColumnsWarning(CutwiseWarning):
    """All columns have mean 0 and variance 1: the rules are in the units of a scaler, under the columns' names."""

    @classmethod
    def of(cls) -> ScaledColumnsWarning:
        """Says how to get rules in the units of the table."""
        return cls(
            "The columns of X have mean 0 and variance 1, so the rules are in scaled units. Give the unscaled table "
            "and preprocessor=StandardScaler(); or get the rules of a fitted pipeline in its own "
            "columns: cutwise.explain_pipeline(pipeline)."
        )


class DominantColumnWarning(CutwiseWarning):
    """One column of several holds nearly all of the cost: the clusters are those of that column alone."""

    @classmethod
    def of(cls, column: str, share: float, scaler: str) -> DominantColumnWarning:
        """Names the column, as in ``Columns.describe``, and its share of the reference's cost."""
        scaled = scaler if scaler == "TableScaler()" else f"{scaler}. If they should not, set preprocessor=None"
        return cls(
            f"{column[0].upper()}{column[1:]} holds {share:.1%} of the cost, so the other columns hardly "
            f"count. If they should, scale them: preprocessor={scaled}."
        )


class UnknownLevelsWarning(CutwiseWarning):
    """New rows have levels of a category that were never seen at fit."""


class UnseparableCentersWarning(CutwiseWarning):
    """Two or more centers are equal in every column that may be cut, so no threshold separates them."""

    @classmethod
    def of(cls, groups: Sequence[Sequence[object]]) -> UnseparableCentersWarning:
        """Names each group of equal centers; its first member keeps the leaf."""
        parts = "; ".join(" = ".join(map(str, group)) for group in groups[:5])
        if len(groups) > 5:
            parts += f"; and {len(groups) - 5} more"
        return cls(
            "The centers of these clusters are equal in every column that may be cut, so no threshold can separate "
            "them: "
            f"{parts}. The first of each keeps the leaf, the others have none. Ask for fewer clusters, or give the "
            "columns that differ."
        )


class EmptyClusterWarning(CutwiseWarning):
    """A cluster ended without rows; it keeps its number, and ``labels_`` skips it."""

    @classmethod
    def of(cls, clusters: Sequence[object]) -> EmptyClusterWarning:
        """Names the clusters that no row is assigned to."""
        which = f"Cluster{'s' if len(clusters) > 1 else ''} {listed(clusters, most=20, write=str)}"
        return cls(f"{which} ended without rows: the tree puts all rows into other clusters.")


class NotPositiveDefiniteWarning(CutwiseWarning):
    """A squared distance in feature space is below 0, as under no positive definite kernel."""

    @classmethod
    def of(cls, *, row: int, cluster: int, squared_distance: float) -> NotPositiveDefiniteWarning:
        """Names the row and the cluster of the lowest one."""
        return cls(
            f"The squared distance of row {row} (counted from 0) to the mean of cluster {cluster} is "
            f"{squared_distance:.6g}, below 0: the kernel is not positive definite, so costs are not distances and may "
            "rise while k-means runs. Use a positive definite kernel, or add a constant to the matrix's diagonal."
        )


class LargeIntegersWarning(CutwiseWarning):
    """The rules test integers near or beyond 2**53, where float64 no longer distinguishes neighbors."""

    @classmethod
    def of(cls, columns: Sequence[str]) -> LargeIntegersWarning:
        """Names the columns."""
        return cls(
            f"The rules use integers near or beyond 2**53, which float64 cannot tell from their neighbors: "
            f"{', '.join(columns)}. Leave out columns that only identify rows; subtract the minimum from others."
        )


_ENCODE = "Encode it (cutwise.TableScaler, or sklearn.preprocessing.OneHotEncoder and the like)"

# The next step for a column that is not numeric, by what it holds.
_TO_NUMBERS = {
    "text": _ENCODE,
    "other text": "Name it in categorical_features too",
    "categories": _ENCODE,
    "numbers written as text": "Turn it into numbers (pandas.to_numeric)",
    "text with missing values": _ENCODE,
    "text among numbers": "If {} marks a missing value, read it as one (pandas.read_csv has na_values; "
    "pandas.to_numeric has errors='coerce') and fill it in; else make texts of all values (astype(str) in pandas)",
    "texts and other values": "Make texts of all values (astype(str) in pandas)",
    "decimals of more digits than float64 has": "Make texts of all values (astype(str) in pandas)",
    "times and other values": "Make dates (to_datetime in pandas), durations (to_timedelta) or texts of all values",
    "levels other than texts and finite numbers": "Give dates and durations as such, not as categories: rules then ask "
    "about before and after. Make texts of others (astype(str) in pandas)",
    "dates or times": "Turn it into numbers (days since a first date, or day, month and year as columns)",
    "dates with and without a time zone": "Give all of them one (dt.tz_localize in pandas), or none",
    "values of type 'Period'": "Make dates of it (.dt.to_timestamp() in pandas)",
    "complex numbers": "Complex data not supported: make two columns, of the real and of the imaginary parts",
}


def _bullets(names: Sequence[str]) -> str:
    """The names one per line, in scikit-learn's format: five at most."""
    lines = [f"- {name}\n" for name in names[:5]]
    return "".join(lines) + ("- ...\n" if len(names) > 5 else "")

"""Names of clusters from the command line: ``--name 0=students``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutwise.exceptions import InvalidInputError, listed

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator

__all__ = ["name_clusters"]


def name_clusters(model: TreeEstimator, given: Sequence[str]) -> None:
    """Give the clusters of a fitted model the names of ``--name``.

    Parameters
    ----------
    model : estimator
    given : sequence of str
        ``CLUSTER=NAME``, the cluster as it is printed.

    Raises
    ------
    InvalidInputError
        Text of another form, or names that the clusters cannot have.
    """
    names: dict[Any, str] = {}
    labels = model.classes_.tolist()
    for text in given:
        # A label may hold "=" itself: of those that fit, the longest is meant.
        fits = [label for label in labels if text.startswith(f"{label}=")]
        if not fits:
            raise InvalidInputError(
                f"--name {text}: there is no such cluster. Say CLUSTER=NAME, such as --name '{labels[0]}=students'; "
                f"the clusters are {listed(labels, most=20)}."
            )
        label = max(fits, key=lambda label: len(str(label)))
        if label in names:
            raise InvalidInputError(f"--name gives cluster {label!r} two names. Give it one.")
        names[label] = text[len(f"{label}=") :]
    if names:
        model.name_clusters(names)

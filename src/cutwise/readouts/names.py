"""What clusters are called: names that people give, beside the labels that ``predict`` gives.

One rule for every readout, model file and command: a name replaces the label where people read, and stands beside it
where programs do; a cluster without a name goes by its label. So that neither can be taken for another cluster, a name
is never that of two clusters, nor the label of another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cutwise.exceptions import InvalidInputError, UnsupportedInputError, did_you_mean, listed

__all__ = ["Titled", "cluster_titles", "read_cluster_names"]


class Titled:
    """Part of what speaks of a cluster: what the cluster is called."""

    cluster: Any
    name: str | None

    @property
    def title(self) -> Any:
        """The cluster's name, or its label where it has none."""
        return self.cluster if self.name is None else self.name


def read_cluster_names(
    labels: Sequence[Any], names: Mapping[Any, str | None] | None, known: Mapping[Any, str] | None = None
) -> dict[Any, str]:
    """Check names of clusters, and add them to those that are known.

    Parameters
    ----------
    labels : sequence of length n_clusters
        The labels that ``predict`` gives, as Python values.
    names : mapping of label to str, optional
        Replace those that are known for the same clusters; None takes a name away.
    known : mapping of label to str, optional
        Checked before.

    Returns
    -------
    names : dict of label to str
        Only of the clusters that have one, in the order of ``labels``.

    Raises
    ------
    InvalidInputError
        A label that no cluster has, an empty name, a name for two clusters, or a name that is another cluster's label.
    UnsupportedInputError
        No mapping, or a name that is no text.
    """
    if names is None:
        return dict(known or {})
    if not isinstance(names, Mapping):
        raise UnsupportedInputError(
            f"names is a mapping from a cluster to its name, such as {{{labels[0]!r}: 'students'}}, not {names!r}."
        )
    own = {label: label for label in labels}  # gives back the label itself for a key that only equals it, like 1.0
    merged: dict[Any, str | None] = dict(known or {})
    for label, name in names.items():
        if label not in own:
            raise _unknown(label, labels)
        merged[own[label]] = None if name is None else _checked(own[label], name)
    given = {label: name for label in labels if (name := merged.get(label)) is not None}
    _refuse_clashes(labels, given)
    return given


def cluster_titles(labels: Sequence[Any], names: Mapping[Any, str] | None) -> list[Any]:
    """What every cluster is called where people read: its name, or its label as it is.

    Parameters
    ----------
    labels : sequence of length n_clusters
    names : mapping of label to str, optional
        As ``read_cluster_names`` gives them.

    Returns
    -------
    titles : list of length n_clusters
    """
    return [(names or {}).get(label, label) for label in labels]


def _checked(label: Any, name: Any) -> str:
    if not isinstance(name, str):
        raise UnsupportedInputError(
            f"The name of cluster {label!r} is {name!r}, and a name is text. Give a string, or None for no name."
        )
    if not name.strip():
        raise InvalidInputError(f"The name of cluster {label!r} is empty. Give it some text, or None for no name.")
    return str(name)


def _unknown(label: Any, labels: Sequence[Any]) -> InvalidInputError:
    hint = did_you_mean(label, [own for own in labels if isinstance(own, str)])
    alike = [own for own in labels if str(own) == str(label)]
    if alike:
        hint = f" Did you mean {alike[0]!r}?"
    return InvalidInputError(f"names: there is no cluster {label!r}.{hint} The clusters are {listed(labels, most=20)}.")


def _refuse_clashes(labels: Sequence[Any], names: Mapping[Any, str]) -> None:
    owner: dict[str, Any] = {}
    for label, name in names.items():
        if name in owner:
            raise InvalidInputError(
                f"Clusters {owner[name]!r} and {label!r} are both named {name!r}. Give each a name of its own."
            )
        owner[name] = label
    for label in labels:
        own = str(label)
        if own in owner and owner[own] != label:
            raise InvalidInputError(
                f"Cluster {owner[own]!r} is named {own!r}, which is the label of another cluster. Choose another name."
            )

"""Making of the papers' real data sets from tables that scikit-learn contains or fetches."""

from __future__ import annotations

from typing import Any

import numpy as np

Values = tuple[Any, list[str], Any]  # rows, the names of their columns, and known labels or None

_VOWEL, _MICE = 307, 40966  # OpenML's numbers do not change their content: a new version has a new number


def fetch(origin: str) -> Values:
    """The data of an origin: a function below, a number of OpenML, or a table that scikit-learn contains."""
    if origin in _MADE:
        return _MADE[origin]()
    return _openml(int(origin)) if origin.isdecimal() else _bundled(origin)


def halfmoons() -> Values:
    """500 points on two half circles, with noise 0.05."""
    from sklearn.datasets import make_moons

    rows, labels = make_moons(n_samples=500, noise=0.05, random_state=0)
    return rows, ["x", "y"], labels


def vowel() -> Values:
    """990 vowels, by 10 acoustic features, without the speaker."""
    rows, names, labels = _openml(_VOWEL)
    selected = [i for i, name in enumerate(names) if name.startswith("Feature")]
    return rows[:, selected], [names[i] for i in selected], labels


def mice_rows() -> Values:
    """Protein levels of mice: the rows without missing values."""
    rows, names, labels = _openml(_MICE)
    whole = ~np.isnan(rows).any(axis=1)
    return rows[whole], names, labels[whole]


def mice_columns() -> Values:
    """Protein levels of mice: the columns with at most 10 missing values, which get the column's mean."""
    rows, names, labels = _openml(_MICE)
    selected = np.flatnonzero(np.isnan(rows).sum(axis=0) <= 10)
    rows = rows[:, selected]
    return np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows), [names[i] for i in selected.tolist()], labels


def covtype() -> Values:
    """581,012 pieces of forest."""
    from sklearn.datasets import fetch_covtype

    bunch = fetch_covtype()
    return bunch.data, list(bunch.feature_names), bunch.target


def newsgroups_tfidf() -> Values:
    """18,846 posts, by the TF-IDF of their common words; sparse."""
    return _words("TfidfVectorizer")


def newsgroups_counts() -> Values:
    """18,846 posts, by the counts of their common words; sparse."""
    return _words("CountVectorizer")


def _bundled(name: str) -> Values:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return bunch.data, [str(column) for column in bunch.feature_names], bunch.target


def _openml(number: int) -> Values:
    """The numeric columns of a table of OpenML, from scikit-learn's cache if it was fetched before."""
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=number, as_frame=True, parser="auto")
    numeric = bunch.data.select_dtypes("number")
    return numeric.to_numpy(dtype=np.float64), [str(column) for column in numeric.columns], np.asarray(bunch.target)


def _words(kind: str) -> Values:
    """Posts by words that occur in at least 1 % of them; ``kind``: the vectorizer of scikit-learn."""
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction import text

    posts = fetch_20newsgroups(subset="all", remove=())
    vectorizer = getattr(text, kind)(stop_words="english", min_df=0.01)
    return vectorizer.fit_transform(posts.data), list(vectorizer.get_feature_names_out()), posts.target


_MADE = {
    made.__name__: made
    for made in (halfmoons, vowel, mice_rows, mice_columns, covtype, newsgroups_tfidf, newsgroups_counts)
}

"""What is said of cost ratios, of shares kept, and where either is worth a word of advice."""

import math
import re

import pytest

from cutwise.readouts.words import advice, explained_text, explained_words, ratio_words, table_notes

OWN, COSTS = "the k-means clusters", "squared distances"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.047, "squared distances within the tree's clusters add up to 4.7 % more than within the k-means clusters"),
        (
            0.981,
            "squared distances within the tree's clusters add up to 1.9 % less than within the k-means clusters, "
            "which are not the cheapest for these rows",
        ),
        (
            1 - 1e-9,
            "squared distances within the tree's clusters add up to <0.1 % less than within the k-means clusters",
        ),
        (math.nan, "the k-means clusters have cost 0, so there is no ratio"),
    ],
)
def test_a_cost_ratio_is_explained_most_of_all_below_one(ratio, words):
    assert ratio_words(ratio, OWN, COSTS) == words
    assert any("below 1" in note for note in table_notes([1.2, ratio], 0.5, COSTS)) == ("cheapest" in words)


def test_a_share_kept_says_what_it_is_a_share_of():
    words = explained_words(0.942, 0.448, OWN, COSTS)
    assert words == "the k-means clusters explain 44.8 % of all squared distances, and the tree keeps 94.2 % of that"
    assert "nothing" in explained_words(math.nan, 0.0, OWN, COSTS)
    assert explained_words(1.24, 0.197, OWN, COSTS).endswith(
        "19.7 % of all squared distances, and the tree's clusters explain 24.4 %"
    )


def test_a_share_of_next_to_nothing_is_no_figure():
    assert [explained_text(0.942, 0.448), explained_text(1.24, 0.197), explained_text(40.0, 0.003)] == [
        "94.2 %",
        "124.0 %",
        "n/a",
    ]
    assert explained_text(math.nan, math.nan) == "n/a"
    words = "explain 0.3 % of all squared distances, next to nothing; the tree's clusters explain 12.0 %"
    assert explained_words(40.0, 0.003, OWN, COSTS) == f"{OWN} {words}"
    assert table_notes([1.2], 0.003, COSTS)[0].endswith("(0.3 % of all squared distances; n/a: next to nothing)")


@pytest.mark.parametrize(
    ("kept", "reference", "chosen", "more_leaves", "words"),
    [
        (0.95, 0.5, True, "max_leaves 6", None),
        (math.nan, math.nan, True, "max_leaves 6", None),
        (0.95, 0.1, True, "max_leaves 6", "another number of clusters, other columns or another scale"),
        (0.53, 0.1, False, "max_leaves 6", None),  # the given clusters are about something else than these costs
        (0.53, 0.5, False, "max_leaves 6", r"allow more leaves \(max_leaves 6\)$"),
        (0.53, 0.5, True, "max_leaves 6", r"allow more leaves \(max_leaves 6\), or try another number of clusters$"),
        (0.53, 0.5, True, None, "explain: try another number of clusters$"),
        (0.53, 0.5, False, None, None),
    ],
)
def test_advice_is_given_where_little_is_explained_or_kept(kept, reference, chosen, more_leaves, words):
    found = advice(kept, reference, OWN, chosen=chosen, more_leaves=more_leaves)
    assert found is None if words is None else re.search(words, found)

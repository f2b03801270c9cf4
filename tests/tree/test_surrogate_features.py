"""Surrogate features: they are the feature maps they claim to be, and their cuts are intervals."""

import numpy as np
import pytest

from cutwise.exceptions import InvalidInputError
from cutwise.tree.surrogate_features import (
    chi_squared_features,
    distance_features,
    hellinger_features,
    intersection_features,
    surrogate_features,
    taylor_features,
)

VALUES = np.array([0.0, 0.01, 0.3, 0.31, 0.7, 1.0, 1.8, 2.5, 4.0])


def gram(features):
    return features.T @ features


def n_turns(values):
    """How often a feature goes from rising to falling or back."""
    steps = np.sign(np.diff(values))
    steps = steps[steps != 0]
    return int((steps[1:] != steps[:-1]).sum())


def test_taylor_features_multiply_to_the_gaussian_kernel():
    expected = np.exp(-0.4 * (VALUES[:, None] - VALUES) ** 2)
    errors = [
        np.abs(gram(taylor_features(VALUES, True, gamma=0.4, order=order)) - expected).max() for order in (4, 12, 40)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-9


def test_a_shift_changes_no_kernel_value_and_keeps_every_feature_to_one_turn():
    values = VALUES - 2.0
    expected = np.exp(-0.4 * (values[:, None] - values) ** 2)
    shifted, unshifted = (taylor_features(values, True, gamma=0.4, order=40, shift=shift) for shift in (True, False))
    np.testing.assert_allclose(gram(shifted), expected, atol=1e-9)
    np.testing.assert_allclose(gram(unshifted), expected, atol=1e-9)
    assert max(map(n_turns, shifted)) <= 1
    assert max(map(n_turns, unshifted)) > 1
    assert (unshifted[1] < 0).any()


@pytest.mark.parametrize("gamma", [1e-6, 0.3, 50.0])
def test_taylor_features_are_finite_far_out(gamma):
    values = np.concatenate([-np.logspace(300, -300, 50), [0.0], np.logspace(-300, 300, 50)])
    for shift in (False, True):
        features = taylor_features(values, True, gamma=gamma, order=9, shift=shift)
        assert features.shape == (10, 101)
        assert np.isfinite(features).all()


def test_distance_features_are_the_kernel_matrix():
    difference = np.abs(VALUES[:, None] - VALUES)
    np.testing.assert_allclose(
        surrogate_features("rbf", gamma=0.7)["kernel"](VALUES, True), np.exp(-0.7 * difference**2)
    )
    np.testing.assert_allclose(
        surrogate_features("laplacian", gamma=0.7)["kernel"](VALUES, True), np.exp(-0.7 * difference)
    )
    cauchy = distance_features(VALUES, True, profile=lambda distance: 1 / (1 + distance))
    np.testing.assert_allclose(cauchy, 1 / (1 + difference))


def test_anchors_are_256_where_values_stand_for_groups():
    values, rbf = np.arange(600.0), surrogate_features("rbf")["kernel"]
    assert rbf(values, True).shape == (600, 600)
    grouped = rbf(values, False)
    assert grouped.shape == (256, 600)
    anchors = grouped.argmax(axis=1)
    assert (anchors[0], anchors[-1]) == (0, 599)
    assert set(np.diff(anchors)) == {2, 3}


def test_the_additive_kernels_have_their_own_maps():
    x = VALUES[:, None]
    np.testing.assert_allclose(gram(hellinger_features(VALUES, True)), np.sqrt(x * VALUES))
    for beta in (0.5, 1.0, 2.0):
        features = intersection_features(VALUES, True, beta=beta)
        np.testing.assert_allclose(gram(features), np.minimum(x**beta, VALUES**beta), atol=1e-12)
        assert max(map(n_turns, features)) == 0
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(2 * x * VALUES / (x + VALUES))
    errors = []
    for n_terms in (5, 50, 500):
        features = chi_squared_features(VALUES, True, n_terms=n_terms)
        assert features.shape == (n_terms, len(VALUES))
        assert max(map(n_turns, features)) <= 1
        errors.append(np.abs(gram(features) - expected)[3:, 3:].max())
    assert errors[0] > errors[1] > errors[2]


def test_chi_squared_features_turn_where_they_should():
    values = np.linspace(0, 20, 4001)
    features = chi_squared_features(values, True)
    for j, feature in enumerate(features[:-1], start=1):
        assert values[feature.argmax()] == pytest.approx(1 / np.log(5 / j), abs=0.01)
    assert features[-1].argmax() == 4000


@pytest.mark.parametrize("family", [hellinger_features, intersection_features, chi_squared_features])
def test_negative_values_are_outside_of_the_additive_kernels(family):
    with pytest.raises(InvalidInputError, match=r"negative value -0\.5.*at least 0"):
        family(np.array([-0.5, 1.0]), True)


def test_every_kernel_names_the_features_that_it_has():
    assert list(surrogate_features("rbf", gamma=2.0)) == ["taylor", "kernel"]
    assert list(surrogate_features("laplacian")) == ["kernel"]
    for kernel in ("hellinger", "histogram_intersection", "additive_chi2"):
        assert list(surrogate_features(kernel)) == ["map"]
    assert surrogate_features("polynomial") == {}
    assert surrogate_features("rbf", gamma=2.0, taylor_order=7)["taylor"](VALUES, True).shape[0] == 8

"""Clusters' colors can be told apart and read, whatever a reader's color vision and background."""

import itertools

import numpy as np
import pytest

from cutwise.readouts.shown import COLORS, cluster_color, ink_on
from tests.each import each

# Machado, Oliveira, Fernandes (2009), severity 1.0: linear RGB as seen without green, red or blue cones.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(color):
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_CONES) @ rgb)


def least_distance(colors, vision):
    seen = [oklab(np.clip(np.array(VISION[vision]) @ linear(color), 0, 1)) for color in colors]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))


@pytest.mark.parametrize("vision", VISION)
def test_colors_can_be_told_apart(vision):
    # 0.02 in OKLab is about the least difference that eyes notice side by side.
    assert least_distance(COLORS, vision) > 0.04
    assert least_distance(COLORS[:8], vision) > 0.07


def contrast(a, b):
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(color))) for color in (a, b))
    return (high + 0.05) / (low + 0.05)


@each("color", COLORS)
def test_ink_is_readable_on_every_color(color):
    assert contrast(color, ink_on(color)) >= 4.5


def test_there_are_thirty_and_then_they_come_again():
    assert len(set(COLORS)) == 30
    assert cluster_color(31) == cluster_color(1) == COLORS[1]

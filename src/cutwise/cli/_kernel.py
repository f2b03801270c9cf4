"""What ``--kernel`` asks for: clusters of kernel k-means, and the options that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutwise.exceptions import InvalidInputError, UnknownOptionError

__all__ = ["KERNEL_NAMES", "KernelOptions"]

KERNEL_NAMES = (
    "rbf",
    "laplacian",
    "additive_chi2",
    "chi2",
    "hellinger",
    "histogram_intersection",
    "polynomial",
    "linear",
)
"""Kernels that are computed from the columns of a file."""

OF_HISTOGRAMS = ("additive_chi2", "chi2", "hellinger", "histogram_intersection")
"""Defined for values of at least 0, which most scales do not leave."""


@dataclass(frozen=True)
class KernelOptions:
    """The options of kernel k-means.

    Attributes
    ----------
    kernel : str or None
        None: no kernel.
    gamma : float or None
    cuts : str
    nystroem : int or None
        Features of the approximation; None: the kernel itself.
    """

    kernel: str | None
    gamma: float | None
    cuts: str | None
    nystroem: int | None

    def check(self, *, objective: str, labels_from: str | None) -> None:
        """Refuse options that have no meaning together.

        Raises
        ------
        InvalidInputError
        """
        if self.kernel is None:
            for option, value in (("--gamma", self.gamma), ("--cuts", self.cuts), ("--nystroem", self.nystroem)):
                if value is not None:
                    raise InvalidInputError(f"{option} {value} belongs to a kernel. Say which, such as --kernel rbf.")
            return
        if self.kernel not in KERNEL_NAMES:
            raise UnknownOptionError.of("--kernel", self.kernel, KERNEL_NAMES)
        if objective != "kmeans":
            raise InvalidInputError(
                f"--kernel {self.kernel} clusters by kernel k-means, and --objective {objective} is another objective. "
                "Leave one of them out."
            )
        if labels_from is not None:
            raise InvalidInputError(
                f"--kernel {self.kernel} has no meaning with --labels-from {labels_from}: that column has its clusters "
                "already. Leave one of them out."
            )

    @property
    def scale(self) -> str:
        """How columns are scaled unless it is said: histograms stay as they are."""
        return "none" if self.kernel in OF_HISTOGRAMS else "standard"

    def estimator(self, n_clusters: int, growth: dict[str, Any]) -> Any:
        """The estimator, unfitted; ``growth`` are the parameters that all estimators have, and k-means' own."""
        from cutwise import ExplainableKernelKMeans

        shared = {name: value for name, value in growth.items() if name != "depth_penalty"}
        if self.nystroem is not None:
            shared |= {"approximation": "nystroem", "n_components": self.nystroem}
        return ExplainableKernelKMeans(
            n_clusters, kernel=self.kernel, gamma=self.gamma, cuts=self.cuts or "interval", **shared
        )

"""What ``--kernel`` asks for: clusters of kernel k-means, and the options that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutwise.exceptions import InvalidInputError
from cutwise.reference import KERNELS, PRECOMPUTED, needs_nonnegative
from cutwise.table import check_option

if TYPE_CHECKING:
    from cutwise import ExplainableKernelKMeans

__all__ = ["KERNEL_NAMES", "KernelOptions"]

KERNEL_NAMES = tuple(name for name in KERNELS if name != PRECOMPUTED)
"""Kernels that are computed from the columns of a file."""


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
        check_option("--kernel", self.kernel, KERNEL_NAMES)
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
        """How columns are scaled unless it is said: values that may not be negative stay as they are."""
        return "none" if needs_nonnegative(self.kernel) else "standard"

    def estimator(self, n_clusters: int, growth: dict[str, Any]) -> ExplainableKernelKMeans:
        """The estimator, unfitted; ``growth`` are the parameters that all estimators have, and k-means' own."""
        from cutwise import ExplainableKernelKMeans

        shared = {name: value for name, value in growth.items() if name != "depth_penalty"}
        if self.nystroem is not None:
            shared |= {"approximation": "nystroem", "n_components": self.nystroem}
        return ExplainableKernelKMeans(
            n_clusters, kernel=self.kernel, gamma=self.gamma, cuts=self.cuts or "interval", **shared
        )

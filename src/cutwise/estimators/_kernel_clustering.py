"""From kernel parameters to a feature space and a clustering in it: what both kernel estimators do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.estimators._progress import Stages, check_verbose
from cutwise.exceptions import CutwiseWarning, InvalidInputError, warn
from cutwise.reference import INITS, FeatureSpace, NystroemMap, Partition, feature_space, kernel_kmeans
from cutwise.table import Table, check_integer, check_n_jobs, check_option, read_random_state

__all__ = ["APPROXIMATIONS", "KERNEL_PARAMETERS", "KernelRecipe"]

APPROXIMATIONS = (None, "nystroem")
_MOST_SPREAD = 2.0**40

CONSTANTS = ("gamma", "degree", "coef0", "beta")
KERNEL_PARAMETERS = ("kernel", *CONSTANTS, "approximation", "n_components")
"""Parameters that say what distances are."""


@dataclass(frozen=True)
class KernelRecipe:
    """What decides a kernel clustering, apart from the rows.

    Attributes
    ----------
    kernel : str, callable or Kernel
    constants : dict
        gamma, degree, coef0 and beta.
    n_components : int or None
        Landmarks of a Nystrom approximation; None for the kernel itself.
    init : str
    n_init, max_iter, n_jobs, verbose : int
    landmarks, starts : Generator
        What chance decides.
    mapping : NystroemMap or None
        The approximation, where it was made before.
    """

    kernel: Any
    constants: dict[str, Any]
    n_components: int | None
    init: str
    n_init: int
    max_iter: int
    n_jobs: int
    verbose: int
    landmarks: np.random.Generator
    starts: np.random.Generator
    mapping: NystroemMap | None = None

    @classmethod
    def of(cls, estimator: Any) -> KernelRecipe:
        """Check the parameters of an estimator; those of the iterations may be missing.

        Raises
        ------
        InvalidInputError
        """
        check_option("approximation", estimator.approximation, APPROXIMATIONS)
        n_components = check_integer("n_components", estimator.n_components, minimum=1)
        seeds = read_random_state(estimator.random_state).randint(2**31 - 1, size=4)
        landmarks, starts = np.random.default_rng(seeds).spawn(2)
        return cls(
            kernel=estimator.kernel,
            constants={name: getattr(estimator, name) for name in CONSTANTS},
            n_components=None if estimator.approximation is None else n_components,
            init=check_option("init", getattr(estimator, "init", "k-means++"), INITS),
            n_init=check_integer("n_init", estimator.n_init, minimum=1),
            max_iter=check_integer("max_iter", getattr(estimator, "max_iter", 300), minimum=1),
            n_jobs=check_n_jobs(estimator.n_jobs),
            verbose=check_verbose(estimator.verbose),
            landmarks=landmarks,
            starts=starts,
        )

    def space(
        self,
        table: Table,
        sample_weight: npt.NDArray[np.float64] | None,
        stages: Stages,
        *,
        matrix: Any = None,
        keep: npt.NDArray[np.bool_] | None = None,
        merge_by: Any = None,
    ) -> FeatureSpace:
        """Put rows into feature space; parameters as in ``feature_space``."""
        with stages.stage("kernel"):
            space = feature_space(
                table,
                sample_weight,
                self.kernel,
                self.constants,
                matrix=matrix,
                keep=keep,
                merge_by=merge_by,
                n_components=self.n_components,
                mapping=self.mapping,
                rng=self.landmarks,
                n_jobs=self.n_jobs,
            )
        if self.n_components is not None:
            stages.say(f"nystroem: the features lack {space.approximation_error:.2%} of the kernel's trace")
        return space

    def cluster(self, space: FeatureSpace, n_clusters: int, stages: Stages) -> Partition:
        """Cluster the rows of a feature space."""
        formula = space.kernel.formula
        if formula is not None and formula.is_resemblance and space.n_rows > n_clusters:
            _check_resemblance(space)
        with stages.stage("kernel k-means"):
            found = kernel_kmeans(
                space,
                n_clusters,
                init=self.init,
                n_init=self.n_init,
                max_iter=self.max_iter,
                rng=self.starts,
                n_jobs=self.n_jobs,
                verbose=max(self.verbose - 1, 0),
            )
        _check_weights(space, found.cost)
        return found


def _check_weights(space: FeatureSpace, cost: float) -> None:
    """Refuse weights beside which all that costs something vanishes: a cost is a small difference of large sums."""
    least, largest = float(space.weights[space.weights > 0].min()), float(space.weights.max())
    if largest > _MOST_SPREAD * least and cost * _MOST_SPREAD < float(space.weights @ np.abs(space.gram.diagonal)):
        raise InvalidInputError(
            f"sample_weight goes from {least:.6g} to {largest:.6g}, and the cost of the clusters drowns in the "
            "rounding of the heavy rows' share. Use weights closer to each other, or 0 for rows that do not count."
        )


def _check_resemblance(space: FeatureSpace) -> None:
    """Warn where a kernel between 0 and 1 is the same number between all rows, so that any clusters will do."""
    least, largest = space.resemblance
    if least > 1 - 1e-13:
        extreme, found, better = "small", "no row can be told from another", "larger"
    elif largest < 1e-9:
        extreme, found, better = "large", "no row is like any other", "smaller"
    else:
        return
    warn(
        CutwiseWarning(
            f"gamma={space.kernel.constants.gamma:g} is so {extreme} that {found}, and the clusters are arbitrary. "
            f"Use a {better} one, or None for one that suits the spread of the columns."
        )
    )

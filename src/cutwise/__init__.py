"""Clusters that can be said in words: small threshold trees whose leaves are clusters.

The names below are looked up on first touch, so ``import cutwise`` itself costs next to nothing and brings in neither
scikit-learn nor a data frame library.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest

if TYPE_CHECKING:
    from typing import Any

    from cutwise import baselines as baselines
    from cutwise import datasets as datasets
    from cutwise import metrics as metrics
    from cutwise import plot as plot
    from cutwise.estimators import *
    from cutwise.passes.sources import Batches as Batches
    from cutwise.tree.threshold_tree import ThresholdTree as ThresholdTree

__version__ = "0.1.0"

# Public names that cutwise.estimators does not have: modules, and two classes.
_HOMES = {name: f"cutwise.{name}" for name in ("baselines", "datasets", "exceptions", "metrics", "plot")}
_HOMES["Batches"] = "cutwise.passes.sources"
_HOMES["ThresholdTree"] = "cutwise.tree.threshold_tree"

__all__ = [
    "Batches", "ClusterExplainer", "CostCurve", "ExplainableKMeans", "ExplainableKMedians", "ExplainableKernelKMeans",
    "KMedians", "KernelKMeans", "Report", "TableScaler", "ThresholdTree", "TreeFront", "baselines", "cost_curve",
    "datasets", "exceptions", "explain_pipeline", "export_graphviz", "export_json", "export_markdown", "export_polars",
    "export_python", "export_sql", "export_text", "load_model", "metrics", "plot", "report", "tune_depth_penalty",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Resolve a public name on first touch and keep it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_HOMES.get(name, "cutwise.estimators"))
    value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

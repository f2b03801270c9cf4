"""The estimators: recipes of what the other folders do; and what packages built upon them use."""

from cutwise.estimators._base import TreeClusterer, TreeEstimator, fitted
from cutwise.estimators._curve import CostCurve, cost_curve
from cutwise.estimators._document import advice_of, agreement_of, algorithm_of, model_document, words_of
from cutwise.estimators._explainable import ExplainableClusterer
from cutwise.estimators._exports import (
    explain_pipeline,
    export_graphviz,
    export_json,
    export_markdown,
    export_polars,
    export_python,
    export_sql,
    export_text,
)
from cutwise.estimators._front import TreeFront
from cutwise.estimators._guarantee import certificate_line, imm_certificate, imm_guarantee
from cutwise.estimators._load import load_model
from cutwise.estimators._report import Report, check_form, report
from cutwise.estimators._tuning import PenaltySearch
from cutwise.estimators.cluster_explainer import ClusterExplainer
from cutwise.estimators.explainable_kernel_kmeans import ExplainableKernelKMeans
from cutwise.estimators.explainable_kmeans import ExplainableKMeans, ExplainableKMedians, tune_depth_penalty
from cutwise.estimators.kernel_kmeans import KernelKMeans
from cutwise.estimators.kmedians import KMedians
from cutwise.estimators.table_scaler import TableScaler
from cutwise.estimators.training import FitContext, MetricSpace, TrainingRows, encode_rows

__all__ = [
    "ClusterExplainer",
    "CostCurve",
    "ExplainableClusterer",
    "ExplainableKMeans",
    "ExplainableKMedians",
    "ExplainableKernelKMeans",
    "FitContext",
    "KMedians",
    "KernelKMeans",
    "MetricSpace",
    "PenaltySearch",
    "Report",
    "TableScaler",
    "TrainingRows",
    "TreeClusterer",
    "TreeEstimator",
    "TreeFront",
    "advice_of",
    "agreement_of",
    "algorithm_of",
    "certificate_line",
    "check_form",
    "cost_curve",
    "encode_rows",
    "explain_pipeline",
    "export_graphviz",
    "export_json",
    "export_markdown",
    "export_polars",
    "export_python",
    "export_sql",
    "export_text",
    "fitted",
    "imm_certificate",
    "imm_guarantee",
    "load_model",
    "model_document",
    "report",
    "tune_depth_penalty",
    "words_of",
]

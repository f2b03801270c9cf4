"""Criteria for the best cut of a node. Each is made from a ``GrowthProblem`` and registered in ``recipes``."""

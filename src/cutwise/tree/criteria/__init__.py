"""Criteria: which cut of a node is best. One a file; each is made of a ``GrowthProblem``, and named in ``recipes``."""

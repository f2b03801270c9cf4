"""Readouts of a tree: rules, text, sentences and figures.

They take a ``ThresholdTree``, names, labels and counts, never an estimator, so they work for any tree.
"""

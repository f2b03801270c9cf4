"""What people read off a tree: rules, text, sentences and figures.

Everything here takes a ``ThresholdTree``, names, labels and counts, never an estimator: any tree gets all of it.
"""

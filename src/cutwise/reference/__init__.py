"""Reference clusterings, and their costs in fixed point: what trees are grown against."""

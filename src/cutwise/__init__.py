"""Clusters that can be said in words: small threshold trees whose leaves are clusters."""

__version__ = "0.1.0"

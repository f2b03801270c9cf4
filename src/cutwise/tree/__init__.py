"""Threshold trees: what they are, where their cuts are placed, and how they are grown."""

"""Intake: tables, labels, weights and parameters are checked once, here, and errors name what is wrong and where."""

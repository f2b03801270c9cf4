"""Intake: tables, labels, weights and parameters are checked here, once; errors name what is wrong and where."""

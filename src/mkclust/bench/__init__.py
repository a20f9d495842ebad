"""Experiments: suites of methods on data sets, run under limits into one store."""

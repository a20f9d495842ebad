"""Experiments: suites of methods on data sets, run under limits, with results in one store."""

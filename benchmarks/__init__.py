"""Experiments beside the package: suites, one runner, one table of results, pages and figures."""

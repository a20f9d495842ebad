"""Protect the readers against hostile files: limits, and checks before other parsers run."""

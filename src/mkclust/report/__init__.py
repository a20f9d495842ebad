"""The report: a fitted model as one HTML page that works offline, and figures for a paper."""

from .writing import pageable, prepare_report, write_report

__all__ = ["pageable", "prepare_report", "write_report"]

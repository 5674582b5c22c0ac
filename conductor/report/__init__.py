"""A run as one HTML text for people without the app: it opens from disk and loads nothing."""

from conductor.report.page import Planning, run_report

__all__ = ["Planning", "run_report"]

"""A run as one HTML text for people who have no app: it opens from disk and asks for nothing."""

from conductor.report.page import run_report

__all__ = ["run_report"]

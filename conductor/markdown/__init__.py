"""Markdown that a model wrote, as HTML that can neither run nor load anything. Pure."""

from conductor.markdown.rendered import LONGEST, STYLES, Growing, Rendered, rendered, with_mathml

__all__ = ["LONGEST", "STYLES", "Growing", "Rendered", "rendered", "with_mathml"]

"""Markdown that a model wrote, as HTML that can neither run nor load anything. Pure."""

from conductor.markdown.rendered import STYLES, Growing, Rendered, rendered, with_mathml

__all__ = ["STYLES", "Growing", "Rendered", "rendered", "with_mathml"]

"""Draws a value with a graph in a notebook.

Knows who draws, and loads it when something is drawn: the values below all drawing are shown where they are.
"""

from __future__ import annotations


class Drawable:
    """A workflow, a difference of two, or a run."""

    def svg(self) -> str:
        """The graph as SVG, a box for each step. It has the colours of the page that it stands in; as a file
        of its own it is light or dark as the reader's screen.
        """
        from conductor.report.graph import svg_of  # noqa: PLC0415 - see above

        return svg_of(self)

    def _repr_html_(self) -> str:
        from conductor.report.graph import html_of  # noqa: PLC0415 - see above

        return html_of(self)

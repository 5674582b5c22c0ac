"""TeX as MathML, which browsers draw without a script; TeX itself where MathML has nothing for it.

Only elements and attributes that are listed here come out: the library that translates would also write
addresses and styles.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from conductor.markdown.escaping import text_html
from conductor.markdown.writer import formula_source

_ELEMENTS = frozenset(
    """math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover
    mmultiscripts mprescripts none mtable mtr mlabeledtr mtd mpadded mphantom mstyle menclose""".split()
)

_ATTRIBUTES = frozenset(
    """display displaystyle scriptlevel accent accentunder stretchy symmetric fence separator form largeop
    movablelimits lspace rspace minsize maxsize width height depth voffset linethickness notation mathvariant
    mathcolor mathbackground mathsize columnalign rowalign columnspacing rowspacing columnlines rowlines frame
    framespacing align equalrows equalcolumns side columnspan rowspan""".split()
)

_VALUE = re.compile(r"[\w\s.%#+-]{0,60}\Z", re.ASCII)

_DEFINES = re.compile(r"\\(?:[egx]?def|let|newcommand|renewcommand|providecommand|newenvironment|Declare\w*)")
"""Own commands may unfold to any length."""


@lru_cache(maxsize=1024)
def mathml(tex: str, display: bool) -> str:
    """The formula's MathML, or its TeX."""
    if _DEFINES.search(tex):
        return formula_source(tex, display)
    try:
        root = convert_to_element(tex, display="block" if display else "inline")
        return f'<span class="formula-drawn" dir="ltr">{_html(root)}</span>'
    except Exception:  # noqa: BLE001 - of TeX that it does not read, the library raises all kinds
        return formula_source(tex, display)


def _html(element: Element) -> str:
    """Raises `ValueError` for what is not listed, and for a command that the library does not know."""
    if element.tag not in _ELEMENTS:
        raise ValueError(element.tag)
    attributes = "".join(_attribute(name, value) for name, value in element.attrib.items() if name != "xmlns")
    # The library writes signs as references to characters.
    text = unescape(element.text or "")
    if text.startswith("\\") and len(text) > 1:
        raise ValueError(text)
    inside = text_html(text) + "".join(map(_html, element))
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>"


def _attribute(name: str, value: str) -> str:
    if name not in _ATTRIBUTES or not _VALUE.match(value):
        raise ValueError(name)
    return f' {name}="{value}"'

"""The parser's tokens as HTML that is harmless by its making.

Every tag and every attribute is written here; of a token only texts are taken, escaped, and the addresses
that `links` allows. A token of an unknown type is written as its text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from html import escape

from markdown_it.token import Token

from conductor.markdown import links
from conductor.markdown.code_html import code_html
from conductor.markdown.escaping import text_html
from conductor.markdown.formula_rules import TYPES

_PLAIN = {
    "hr": "<hr>",
    "softbreak": "<br>\n",
    "hardbreak": "<br>\n",
    "blockquote_close": "</blockquote>\n",
    "bullet_list_close": "</ul>\n",
    "ordered_list_close": "</ol>\n",
    "list_item_close": "</li>\n",
    "table_open": '<div class="table" tabindex="0" role="region" aria-label="Table"><table{}>\n',
    "table_close": "</table></div>\n",
    "thead_open": "<thead>",
    "thead_close": "</thead>\n",
    "tbody_open": "<tbody>",
    "tbody_close": "</tbody>\n",
    "tr_open": "<tr>",
    "tr_close": "</tr>\n",
    "th_close": "</th>",
    "td_close": "</td>",
    "em_open": "<em>",
    "em_close": "</em>",
    "strong_open": "<strong>",
    "strong_close": "</strong>",
    "s_open": "<s>",
    "s_close": "</s>",
}

_CONTAINERS = {"bullet_list_open", "ordered_list_open", "blockquote_open", "table_open"}

_TASK = re.compile(r"\[([ xX])\](?=\s)")

_STOPS, _SHORT = ".,;:!?)]", 40
"""Stay on the line of a formula before them, where that has fewer characters of TeX."""

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

Formula = Callable[[str, bool], str]
"""The HTML of TeX, and whether it stands by itself."""


def formula_source(tex: str, display: bool) -> str:
    """The TeX itself, for a script that draws it or for a reader."""
    kind = "formula display" if display else "formula"
    return f'<span class="{kind}" dir="ltr">{text_html(tex)}</span>'


class Writer:
    """Writes the tokens of whole blocks. `coloured`: whether code is given colours."""

    def __init__(self, *, formula: Formula = formula_source, coloured: bool = True) -> None:
        self._formula, self._coloured = formula, coloured
        self._link: list[tuple[str, int]] = []
        self._task = False

    def html(self, tokens: Sequence[Token]) -> str:
        out: list[str] = []
        for at, token in enumerate(tokens):
            self._block(token, tokens, at, out)
        return "".join(out)

    # -- blocks ---------------------------------------------------------------------------------------

    def _block(self, token: Token, tokens: Sequence[Token], at: int, out: list[str]) -> None:
        direction = _direction(tokens, at) if token.type in _CONTAINERS else ""
        match token.type:
            case "paragraph_open":
                out.append("" if token.hidden else '<p dir="auto">')
            case "paragraph_close":
                out.append("" if token.hidden else "</p>\n")
            case "heading_open" | "heading_close":
                out.append(_heading(token))
            case "bullet_list_open":
                out.append(f"<ul{direction}>\n")
            case "ordered_list_open":
                start = int(token.attrs.get("start", 1))
                out.append(f'<ol{direction} start="{start}">\n' if start != 1 else f"<ol{direction}>\n")
            case "list_item_open":
                self._task = _is_task(tokens, at)
                out.append('<li class="task">' if self._task else "<li>")
            case "blockquote_open":
                out.append(f"<blockquote{direction}>\n")
            case "table_open":
                out.append(_PLAIN["table_open"].format(direction))
            case "th_open" | "td_open":
                out.append(_cell(token))
            case "fence" | "code_block":
                out.append(self._code(token))
            case "formula_block":
                out.append(f'<div class="formula-block">{self._formula(token.content, True)}</div>\n')
            case "inline":
                self._inline(token.children or [], out, cell=at > 0 and tokens[at - 1].type[2:] == "_open")
            case kind if kind in _PLAIN:
                out.append(_PLAIN[kind])
            case _:
                out.append(text_html(token.content))

    def _code(self, token: Token) -> str:
        language = token.info.split(maxsplit=1)[0][:24] if token.info.strip() else ""
        code = code_html(token.content, language) if self._coloured else text_html(token.content)
        head = f'<div class="code-head"><span class="language">{text_html(language)}</span></div>'
        return f'<div class="code">{head}<pre dir="ltr" tabindex="0"><code>{code}</code></pre></div>\n'

    # -- in a line ------------------------------------------------------------------------------------

    def _inline(self, tokens: Sequence[Token], out: list[str], *, cell: bool) -> None:
        for before, token in zip((None, *tokens), tokens, strict=False):
            match token.type:
                case "text":
                    text = token.content
                    if before is not None and before.type == "formula" and len(before.content) < _SHORT:
                        text = text.lstrip(_STOPS)
                        stops = token.content[: len(token.content) - len(text)]
                        out[-1] = f'<span class="unbroken">{out[-1]}{stops}</span>' if stops else out[-1]
                    self._text(text, out, cell=cell)
                case "code_inline":
                    out.append(f"<code>{text_html(token.content)}</code>")
                case "link_open":
                    href = str(token.attrs.get("href", ""))
                    self._link.append((href, len(out)))
                    out.append(_anchor(href) if links.is_linkable(href) else "<span>")
                case "link_close":
                    href, start = self._link.pop()
                    is_link = links.is_linkable(href)
                    out.append(f"{_target(href, _text_of(out[start + 1 :]))}</a>" if is_link else "</span>")
                case "image":
                    texts = (child.content for child in token.children or () if child.type != "image")
                    out.append(self._image(str(token.attrs.get("src", "")), "".join(texts)))
                case kind if kind in TYPES:
                    out.append(self._formula(token.content, TYPES[kind]))
                case kind if kind in _PLAIN:
                    out.append(_PLAIN[kind])
                case _:
                    out.append(text_html(token.content))

    def _text(self, text: str, out: list[str], *, cell: bool) -> None:
        if self._task:
            self._task = False
            done = text[1] in "xX"
            word = "done" if done else "open"
            out.append(f'<span class="box {word}" role="img" aria-label="{word}"></span>')
            text = text[3:]
        # Tables have no other way to break a line.
        for number, piece in enumerate(_BREAK.split(text) if cell else [text]):
            out.append("<br>" if number else "")
            self._linked(piece, out)

    def _linked(self, text: str, out: list[str]) -> None:
        """Addresses in the text become links."""
        end = 0
        for match in links.BARE.finditer(text) if not self._link else ():
            address = links.without_end(match[0])
            if links.is_linkable(address):
                out.append(text_html(text[end : match.start()]))
                out.append(f"{_anchor(address)}{text_html(address)}{_target(address, address)}</a>")
                end = match.start() + len(address)
        out.append(text_html(text[end:]))

    def _image(self, source: str, alternative: str) -> str:
        """A link to a picture, which is not loaded."""
        name = text_html(alternative or "image")
        if self._link or not links.is_linkable(source):
            return f'<span class="image">{name}</span>'
        return f"{_anchor(source, 'image')}{name}{_target(source, alternative, whole=True)}</a>"


def _heading(token: Token) -> str:
    level = int(token.tag[1:])
    # The page has headings above these.
    tag = f"h{min(level + 2, 6)}"
    return f'<{tag} class="level-{level}" dir="auto">' if token.nesting == 1 else f"</{tag}>\n"


def _cell(token: Token) -> str:
    align = str(token.attrs.get("style", "")).removeprefix("text-align:")
    kind = f' class="{align}"' if align in ("left", "center", "right") else ""
    return f'<{token.tag if token.tag in ("th", "td") else "td"}{kind} dir="auto">'


def _is_task(tokens: Sequence[Token], at: int) -> bool:
    inside = tokens[at + 2] if at + 2 < len(tokens) and tokens[at + 1].type == "paragraph_open" else None
    if inside is None or not inside.children or inside.children[0].type != "text":
        return False
    return _TASK.match(inside.content) is not None and _TASK.match(inside.children[0].content) is not None


def _direction(tokens: Sequence[Token], at: int) -> str:
    """The direction of a list, quote or table: that of its first letter which has one."""
    level = tokens[at].level
    for token in tokens[at + 1 :]:
        if token.level <= level:
            break
        for letter in token.content[:500] if token.type == "inline" else "":
            kind = unicodedata.bidirectional(letter)
            if kind in ("L", "R", "AL"):
                return "" if kind == "L" else ' dir="rtl"'
    return ""


def _anchor(href: str, kind: str = "") -> str:
    address = escape(href, quote=True)
    named = f' class="{kind}"' if kind else ""
    return f'<a{named} href="{address}" title="{address}" target="_blank" rel="noopener noreferrer">'


def _target(href: str, text: str, *, whole: bool = False) -> str:
    destination = links.target(href, text, whole=whole)
    return f' <span class="target">{text_html(destination)}</span>' if destination else ""


def _text_of(html: Sequence[str]) -> str:
    """The text of HTML that was written here."""
    return re.sub("<[^>]*>", "", "".join(html)).replace("&amp;", "&")

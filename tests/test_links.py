"""Links of the documentation lead to files and headings, on the site and in the repository.

Knows Markdown's links and HTML's pictures; `make docs` knows how the site's pages are made of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n?)+|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Those of the headings, as GitHub and the site write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def faults(page: Path, inside: Path) -> list[str]:
    """The links of a page that lead to nothing below `inside`; other addresses are not followed."""
    wrong = []
    for groups in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        link = groups[0] or groups[1]
        if ":" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        leads = target.is_relative_to(inside) and target.exists()
        if not leads or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    docs = ROOT / "docs"
    assert faults(page, docs if page.is_relative_to(docs) else ROOT) == []


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("[a](other.md)", []),
        ("[a](other.md#one-heading)", []),
        ("[a](https://a.example/none#b)", []),
        ("`[a](none.md)`", []),
        ("    code\n\n[a](none.md)", ["none.md"]),
        ("[a](none.md)", ["none.md"]),
        ("[a](other.md#none)", ["other.md#none"]),
        ("[a](#none)", ["#none"]),
        ("[a](../out.md)", ["../out.md"]),
        ('<img src="none.png">', ["none.png"]),
        ('<source srcset="none.png">', ["none.png"]),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str, wrong: list[str]) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    (tmp_path / "out.md").touch()
    page.with_name("other.md").write_text("# One `heading`\n")
    page.write_text(f"# Page\n\n{link}\n")
    assert faults(page, page.parent) == wrong


def test_the_site_lists_every_page() -> None:
    site = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = sorted(page.name for page in (ROOT / "docs").glob("*.md"))
    assert sorted(re.findall(r"[\w-]+\.md", site)) == pages

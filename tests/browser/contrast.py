"""Whether the texts of a page can be read: their contrast with what lies behind them.

Knows the WCAG's formula; knows no page.
"""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import Page

from tests.support.runs.waiting import until

FAINT = """(within) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return { rgb: [r, g, b], alpha: a / 255 };
  };
  const above = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null;
  const over = (front, share, back) => front.map((value, i) => value * share + back[i] * (1 - share));
  const ground = (node) => {
    if (!node) return [255, 255, 255];
    const { rgb, alpha } = rgba(getComputedStyle(node).backgroundColor);
    return alpha === 1 ? rgb : over(rgb, alpha, ground(above(node)));
  };
  const opacity = (node) => (node ? getComputedStyle(node).opacity * opacity(above(node)) : 1);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (node) => {
    const back = ground(node);
    const ink = rgba(getComputedStyle(node).color);
    const [a, b] = [light(over(ink.rgb, ink.alpha * opacity(node), back)), light(back)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const own = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const texts = (root) => [...root.querySelectorAll("*")].flatMap((node) => [
    ...(own(node) && node.checkVisibility() ? [node] : []),
    ...(node.shadowRoot ? texts(node.shadowRoot) : []),
  ]);
  const exempt = "style, script, :disabled, :disabled *, .outline *, [data-testid=stIconMaterial]";
  return texts(document.querySelector(within))
    .filter((node) => !node.matches(exempt) && contrast(node) < 4.5)
    .map((node) => `${node.textContent.trim().slice(0, 40)}: ${contrast(node).toFixed(2)}`);
}"""
"""Texts whose contrast with what lies behind them is below WCAG AA; what cannot be used is exempt."""


def assert_readable(page: Page, within: str = "[data-testid=stApp]") -> None:
    """Fails, and names the texts, if texts of the element stay below WCAG AA (contrast 4.5).

    Streamlit dims what it is about to replace: a text that is faint only until then is no fault.
    """
    with suppress(AssertionError):
        until(lambda: page.evaluate(FAINT, within) == [], every=0.1)
    faint = page.evaluate(FAINT, within)
    assert not faint, faint

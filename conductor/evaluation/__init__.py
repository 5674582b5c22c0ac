"""Questions with known answers, how answers are scored, and what may be concluded from the scores.

Knows items, texts and numbers; knows no pool, no store and no page.
"""

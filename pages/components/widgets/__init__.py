"""Texts, tables, differences and badges that several regions draw."""

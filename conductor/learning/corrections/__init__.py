"""Corrections that people made of plans, as lessons, and a small Conductor that learns them."""

"""Carries out an evaluation: this process or others run its cells, and they are scored."""

"""A plan for a question, before anything of it runs."""

from conductor import plan

print(plan("Compare France and Japan").workflow)

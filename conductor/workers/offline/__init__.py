"""Built-in experts that work without a network: mathematics, facts, text, and a checker of all three.

They compute, look up and extract, and never pretend to be language models. SymPy is imported in a child
process only; this package imports nothing, so that the child starts soon.
"""

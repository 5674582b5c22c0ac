"""One kind of each group, in a module each."""

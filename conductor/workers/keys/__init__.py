"""Keys: which variables may hold one, which hosts may get it, and how it is masked in texts."""

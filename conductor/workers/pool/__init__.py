"""The pool: the file that names workers, its entries, and each worker's fallback."""

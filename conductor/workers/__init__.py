"""The workers: their protocol, the built-in workers, the simulated worker, language models, and the pool."""

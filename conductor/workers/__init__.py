"""The workers: their protocol, the built-in experts, the simulated worker, language models, and the pool."""

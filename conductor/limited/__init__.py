"""Limited processes, for what is not trusted: each has limits of time and memory, and a folder of its own."""

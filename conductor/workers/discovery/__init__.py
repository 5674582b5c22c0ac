"""What there is to work with before a pool is written: servers on this machine, keys, and their models."""

"""Sessions as copies: forks, and the entries that files are made of."""

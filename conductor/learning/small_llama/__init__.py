"""A small Llama as it is trained: made, sampled from, tokenized, and written as a folder."""

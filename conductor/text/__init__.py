"""Text: thoughts and answers in it, differences of words, formatted figures, bounded reading, strict JSON."""

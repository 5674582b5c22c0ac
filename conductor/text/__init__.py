"""Text and files of text: differences of words, formatted figures, bounded reading, strict JSON."""

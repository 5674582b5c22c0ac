"""The commands about stored sessions."""

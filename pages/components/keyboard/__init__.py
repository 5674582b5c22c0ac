"""The keyboard on a page: its shortcuts, and where the focus goes when its button disappears."""

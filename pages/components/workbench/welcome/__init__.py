"""The page while no session is open: examples, the gallery, recorded sessions."""

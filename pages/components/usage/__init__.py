"""The parts of the page on what requests have used."""

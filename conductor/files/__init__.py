"""Files that people name or attach: opened, locked, recognised by their first bytes, and read as text."""

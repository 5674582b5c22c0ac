"""The bar over the panes: title, state, undo and redo, run, share."""

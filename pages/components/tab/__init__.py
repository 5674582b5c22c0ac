"""The state of one browser tab, and the services that all tabs share."""

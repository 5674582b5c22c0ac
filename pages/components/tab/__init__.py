"""What one browser tab remembers, and the services that all tabs share."""

"""The objects that the application is built of, from what is configured."""

"""The OpenAI-compatible API: any OpenAI client gets an orchestrated answer."""

"""The orchestra over HTTP, in OpenAI's words: any OpenAI client gets an orchestrated answer."""

"""The process of an embedded model: llama.cpp's own HTTP server on loopback, for one GGUF file.

Started by `embedded_worker` as a script. A JSON object comes in as one line on stdin; the address goes out as
a JSON line on stdout once the model is loaded. It ends as soon as stdin does, which is when its parent ends.
"""

from __future__ import annotations

import json
import os
import sys


def _serve(wish: dict[str, object]) -> str:
    """Load the model and listen on a free port of 127.0.0.1; returns the address."""
    # In this process alone: the library takes 100 MB, and a fault in it ends the process that it is in.
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = wish["path"]
    params.model_alias = {wish["model"]}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [wish["key"]]
    params.n_ctx, params.n_parallel = wish["context"], 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wish["threads"]
    params.sleep_idle_seconds = wish["idle_seconds"]
    if wish["embeds"]:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        # A text is embedded in one go.
        params.n_batch = params.n_ubatch = wish["context"]
    # The chat template of the file itself, which also knows how a call of a tool is written.
    params.use_jinja = True
    server = xllamacpp.Server(params)
    _SERVERS.append(server)
    return str(server.listening_address)


_SERVERS: list[object] = []
"""A server that is collected stops."""

if __name__ == "__main__":
    address = _serve(json.loads(sys.stdin.readline()))
    print(json.dumps({"address": address}), flush=True)
    # The library logs each request, and nothing reads that any more: a pipe would be full, a file would grow.
    silence = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(silence, output)
    sys.stdin.read()
    # Without the library's own end, which waits for answers that nothing reads any more.
    os._exit(0)

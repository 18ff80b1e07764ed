"""Serves one model file on 127.0.0.1 by llama.cpp's own server; needs a Python with xllamacpp.

The first line of standard input is a JSON object (`gguf`, `key`, `alias`, `window`, `template`);
the answer is one JSON line with the address. The server ends when standard input does, so it
cannot outlive whoever started it.
"""

from __future__ import annotations

import json
import sys

import xllamacpp


def parameters(wanted: dict[str, str | int]) -> xllamacpp.CommonParams:
    """One slot, one thread, no chance in sampling."""
    params = xllamacpp.CommonParams()
    params.model.path = wanted["gguf"]
    params.model_alias = {wanted["alias"]}
    params.api_keys = [wanted["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = wanted["window"]
    params.n_parallel = 1
    # More threads than idle cores wait for each other by spinning, many times slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.use_jinja = True
    params.ui = False
    params.offline = True
    if wanted["template"]:
        params.chat_template = wanted["template"]
    return params


def main() -> None:
    """Serve until standard input ends."""
    server = xllamacpp.Server(parameters(json.loads(sys.stdin.readline())))
    sys.stdout.write(json.dumps({"base_url": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

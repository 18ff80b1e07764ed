#!/usr/bin/env bash
# Renews requirements/dev.txt: every dependency of the package, the tests and the checks, with hashes.
set -eu
uv="$(mktemp -d)"
trap 'rm -rf "$uv"' EXIT
"$(scripts/find_python.sh)" -m venv "$uv"
"$uv/bin/python" -m pip install --quiet uv
"$uv/bin/uv" pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --upgrade \
  --python-version 3.11 --group dev --group build pyproject.toml -o requirements/dev.txt

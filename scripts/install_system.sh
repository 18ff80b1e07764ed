#!/usr/bin/env bash
# Brings what the tests use of the system where apt can (as root): Chromium for the browser tests, ripgrep for
# those of `search`. Elsewhere these tests are skipped by name.
set -u
missing=()
command -v chromium >/dev/null 2>&1 || missing+=(chromium)
command -v rg >/dev/null 2>&1 || missing+=(ripgrep)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Not installed, and apt cannot be used here: ${missing[*]}. The tests that need them will be skipped."
  exit 0
fi
echo "Installing for the tests (once): ${missing[*]}"
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "${missing[@]}"; } >/dev/null 2>&1; then
  echo "apt could not install ${missing[*]}: the tests that need them will be skipped."
fi
exit 0

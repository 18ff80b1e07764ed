#!/usr/bin/env bash
# Brings Chromium for the browser tests where apt can (as root). Elsewhere those tests are skipped by name.
set -u
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Chromium is not installed and apt cannot be used here: the browser tests will be skipped."
  exit 0
fi
echo "Installing Chromium for the browser tests (once)"
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium; } >/dev/null 2>&1; then
  echo "apt could not install chromium: the browser tests will be skipped."
fi
exit 0

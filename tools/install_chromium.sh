#!/bin/sh
# Finds Chromium, or installs Debian's package of it; fails with a sentence when neither works.
set -u
for name in chromium chromium-browser google-chrome chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Chromium (once) ..."
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium && exit 0
fi
echo "The tests of the console need Chromium, and it could not be installed; on Debian and Ubuntu: apt install chromium" >&2
exit 1

#!/bin/sh
# Find Chromium, the browser in which the tests of the page run. pip cannot install it.
#
#   scripts/chromium.sh          find it; as root on Debian or Ubuntu, install it when there is none
#   scripts/chromium.sh --find   only look
#
# Prints the program to start on standard output (everything else goes to standard error). Exit code 1 and one line
# saying what to install when there is none: the tests that need it are then skipped. Looks at HEADGATE_CHROMIUM, then
# at PATH.
set -u

# probe NAME: print where it is; fail when it does not run. Ubuntu has a chromium-browser that only asks for a snap.
probe() {
    found=$(command -v "$1" 2>/dev/null) && "$found" --version >/dev/null 2>&1 && echo "$found"
}

find_chromium() {
    if [ -n "${HEADGATE_CHROMIUM:-}" ]; then
        probe "$HEADGATE_CHROMIUM"
        return
    fi
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        probe "$name" && return
    done
    return 1
}

install_chromium() {
    echo "headgate: no Chromium found; installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    # fonts: without any, pages have boxes instead of letters
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-liberation >&2
}

find_chromium && exit 0
if [ "${1:-}" != --find ] && [ -z "${HEADGATE_CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] &&
    command -v apt-get >/dev/null 2>&1; then
    install_chromium && find_chromium && exit 0
fi
echo "headgate: Chromium is needed to test the page: install it (Debian: sudo apt-get install chromium) or set HEADGATE_CHROMIUM to one" >&2
exit 1

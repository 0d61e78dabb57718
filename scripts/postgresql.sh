#!/bin/sh
# Find PostgreSQL's server programs, for the tests and benches of the sink `postgresql`.
#
#   scripts/postgresql.sh          find them; as root on Debian or Ubuntu, install them when there are none
#   scripts/postgresql.sh --find   only look
#
# Prints the folder with initdb and postgres on standard output (everything else goes to standard error). Exit code 1
# and one line saying what to install when there is none: the tests that need it are then skipped. Looks at
# HEADGATE_POSTGRESQL, then at PATH, then at HEADGATE_POSTGRESQL_DIR/*/bin (default /usr/lib/postgresql/*/bin), where the
# highest version wins.
set -u

VERSIONS=${HEADGATE_POSTGRESQL_DIR:-/usr/lib/postgresql}

# probe FOLDER: print it; fail when it lacks a program that runs.
probe() {
    "$1/initdb" --version >/dev/null 2>&1 && "$1/postgres" --version >/dev/null 2>&1 && echo "$1"
}

find_postgresql() {
    if [ -n "${HEADGATE_POSTGRESQL:-}" ]; then
        probe "$HEADGATE_POSTGRESQL"
        return
    fi
    on_path=$(command -v initdb 2>/dev/null) && on_path=$(readlink -f "$on_path") && probe "${on_path%/initdb}" && return
    best=0 found=
    for folder in "$VERSIONS"/*/bin; do
        version=${folder%/bin} version=${version##*/}
        if probe "$folder" >/dev/null && [ "${version%%.*}" -gt $best ] 2>/dev/null; then
            best=${version%%.*} found=$folder
        fi
    done
    [ -n "$found" ] && echo "$found"
}

install_postgresql() {
    echo "headgate: no PostgreSQL found; installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p /usr/share/man/man1 /usr/share/man/man7 2>/dev/null # slim images lack them and packages then fail to install
    # The package would make and start a server for the whole machine. The tests start their own.
    config=/etc/postgresql-common/createcluster.conf
    [ -e $config ] || { mkdir -p "$(dirname $config)" && echo "create_main_cluster = false" >$config; }
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold postgresql >&2
}

find_postgresql && exit 0
if [ "${1:-}" != --find ] && [ -z "${HEADGATE_POSTGRESQL:-}" ] && [ "$(id -u)" = 0 ] &&
    command -v apt-get >/dev/null 2>&1; then
    install_postgresql && find_postgresql && exit 0
fi
echo "headgate: PostgreSQL is needed to test its sink: install it (Debian: sudo apt-get install postgresql) or set HEADGATE_POSTGRESQL to the folder of initdb" >&2
exit 1

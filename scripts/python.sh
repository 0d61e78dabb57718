#!/bin/sh
# Print a Python that can make the virtual environment: PYTHON if set, else python3, else a newer one beside it.
# Exit code 1 and one line saying what to install when there is none.
set -u

# Each candidate is run, not just found: a version manager's shim exists for versions that are not active.
runs() { "$1" -c "import sys; sys.exit(not ($2))" >/dev/null 2>&1; }
has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

without_venv=
# First the versions the lock file is tested with, then anything newer.
for range in '(3, 11) <= sys.version_info[:2] <= (3, 13)' 'sys.version_info >= (3, 11)'; do
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        runs "$candidate" "$range" || continue
        if has_venv "$candidate"; then
            command -v "$candidate"
            exit 0
        fi
        without_venv=${without_venv:-$candidate}
    done
done

if [ -n "$without_venv" ]; then
    version=$("$without_venv" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "headgate: $without_venv cannot make virtual environments: install its venv module (Debian or Ubuntu: sudo apt-get install python$version-venv)" >&2
else
    echo "headgate: Python 3.11 or newer is needed: install it (Debian 12+ or Ubuntu 24.04+: sudo apt-get install python3 python3-venv) or set PYTHON to one" >&2
fi
exit 1

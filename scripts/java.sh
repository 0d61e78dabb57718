#!/bin/sh
# Find Java 17 or newer, the only thing Spark needs that pip cannot install.
#
#   scripts/java.sh          find it; as root on Debian or Ubuntu, install it when there is none
#   scripts/java.sh --find   only look
#
# Prints the JAVA_HOME to use on standard output (everything else goes to standard error). Exit code 1 and one
# line saying what to install when there is no such Java. Looks at JAVA_HOME, then PATH, then
# HEADGATE_JVM_DIR/* (default /usr/lib/jvm/*), where the lowest version that will do wins: it is the one Spark
# has been tested with for longest.
set -u

WANTED=17
JVM_DIR=${HEADGATE_JVM_DIR:-/usr/lib/jvm}

# probe JAVA: set $major and $home; fail when JAVA does not run or does not tell its version.
# java.home is asked of Java itself because the command may be a wrapper script far from its home.
probe() {
    [ -x "$1" ] && [ ! -d "$1" ] || return 1
    said=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    # 'openjdk version "17.0.15"', '"21-ea"', '"25"'; up to Java 8 it was '"1.8.0_402"'
    major=$(printf '%s\n' "$said" | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | sed -n 1p)
    [ -n "$major" ] || return 1
    home=$(printf '%s\n' "$said" | sed -n 's/^ *java\.home = //p' | sed -n 1p)
    if [ -z "$home" ] || [ ! -x "$home/bin/java" ]; then
        home=$(readlink -f "$1") || return 1
        home=${home%/bin/java}
    fi
    [ -x "$home/bin/java" ]
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ] && probe "$JAVA_HOME/bin/java" && [ "$major" -ge $WANTED ]; then
        echo "$JAVA_HOME"
        return 0
    fi
    on_path=$(command -v java 2>/dev/null)
    if [ -n "$on_path" ] && probe "$on_path" && [ "$major" -ge $WANTED ]; then
        echo "$home"
        return 0
    fi
    best= best_home=
    for candidate in "$JVM_DIR"/*/bin/java; do
        if probe "$candidate" && [ "$major" -ge $WANTED ] && [ "$major" -lt "${best:-9999}" ]; then
            best=$major best_home=${candidate%/bin/java}
        fi
    done
    [ -n "$best" ] && echo "$best_home"
}

install_java() {
    echo "headgate: no Java $WANTED or newer found; installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p /usr/share/man/man1 2>/dev/null # slim images lack it and older packages then fail to install
    apt-get update -qq >&2
    # default-jre-headless: releases that no longer package 17 have a newer one as their default
    apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >&2 ||
        apt-get install -y -qq --no-install-recommends default-jre-headless >&2
}

find_java && exit 0
if [ "${1:-}" != --find ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    install_java && find_java && exit 0
fi
echo "headgate: Java $WANTED or newer is needed: install it (Debian or Ubuntu: sudo apt-get install openjdk-17-jre-headless, or default-jre-headless) or set JAVA_HOME to one" >&2
exit 1

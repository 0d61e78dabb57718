#!/bin/sh
# Find Kafka, the broker that tests and benches start. It comes from Maven Central.
#
#   scripts/kafka.sh          find it, or fetch it with Maven; as root on Debian or Ubuntu, install Maven when there is none
#   scripts/kafka.sh --find   only look
#
# Prints the folder of its jars on standard output (everything else goes to standard error). Exit code 1 and one line
# saying what to install when it cannot be had: the tests that need it are then skipped. Looks at HEADGATE_KAFKA, a
# folder of jars, then at ~/.cache/headgate (HEADGATE_CACHE).
set -u

VERSION=4.3.1
FOLDER=${HEADGATE_KAFKA:-${HEADGATE_CACHE:-$HOME/.cache/headgate}/kafka-$VERSION}

find_kafka() {
    ls "$FOLDER"/kafka_*.jar >/dev/null 2>&1 && echo "$FOLDER"
}

# Into a folder beside it, which is renamed when it is complete: two may fetch at once.
fetch_kafka() {
    echo "headgate: fetching Kafka $VERSION from Maven Central" >&2
    mkdir -p "${FOLDER%/*}" && fetched=$(mktemp -d "$FOLDER.XXXXXX") || return 1
    cat >"$fetched/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>headgate</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$VERSION</version></dependency>
  </dependencies>
</project>
POM
    JAVA_HOME=$("$(dirname "$0")/java.sh") mvn -q -B -f "$fetched/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$fetched/jars" >&2 || { rm -rf "$fetched"; return 1; }
    [ -d "$FOLDER" ] || mv "$fetched/jars" "$FOLDER"
    rm -rf "$fetched"
}

install_maven() {
    echo "headgate: no Maven found; installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends maven >&2
}

find_kafka && exit 0
if [ "${1:-}" != --find ] && [ -z "${HEADGATE_KAFKA:-}" ]; then
    if ! command -v mvn >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        install_maven
    fi
    command -v mvn >/dev/null 2>&1 && fetch_kafka && find_kafka && exit 0
fi
echo "headgate: Kafka is needed for its tests and benches: install Maven (Debian: sudo apt-get install maven) to fetch it, or set HEADGATE_KAFKA to a folder of Kafka's jars" >&2
exit 1

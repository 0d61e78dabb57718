#!/bin/sh
# Find Kafka for tests and benches: the broker that they start, or Spark's connector for it. Both are on Maven Central.
#
#   scripts/kafka.sh            find the broker, or fetch it with Maven; as root on Debian or Ubuntu, install Maven
#   scripts/kafka.sh --spark    the same for Spark's connector
#   scripts/kafka.sh --find     only look; also with --spark
#
# Prints the folder of jars on standard output (everything else goes to standard error). Exit code 1 and one line saying
# what to install when they cannot be had: the tests that need them are then skipped. Looks at HEADGATE_KAFKA (and
# HEADGATE_SPARK_KAFKA), a folder of jars, then at ~/.cache/headgate (HEADGATE_CACHE).
set -u

KAFKA=4.3.1
CONNECTOR=4.2.0 # the newest one; the part below that handles tokens was not published in this version
TOKENS=4.0.0
CLIENTS=3.9.2
POOL=2.12.1

look_only= what=kafka
for argument in "$@"; do
    case $argument in
    --find) look_only=yes ;;
    --spark) what=spark-kafka ;;
    esac
done
cache=${HEADGATE_CACHE:-$HOME/.cache/headgate}
if [ $what = kafka ]; then
    given=${HEADGATE_KAFKA:-} folder=$cache/kafka-$KAFKA jar=kafka_2.13
else
    given=${HEADGATE_SPARK_KAFKA:-} folder=$cache/spark-kafka-$CONNECTOR jar=spark-sql-kafka
fi
folder=${given:-$folder}

find_jars() {
    ls "$folder"/$jar*.jar >/dev/null 2>&1 && echo "$folder"
}

# artifact GROUP NAME VERSION [alone]: a dependency; `alone` without what it depends on, which Spark has.
artifact() {
    none='<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
    echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>${4:+$none}</dependency>"
}

artifacts() {
    if [ $what = kafka ]; then
        artifact org.apache.kafka kafka_2.13 $KAFKA
    else
        artifact org.apache.spark spark-sql-kafka-0-10_2.13 $CONNECTOR alone
        artifact org.apache.spark spark-token-provider-kafka-0-10_2.13 $TOKENS alone
        artifact org.apache.kafka kafka-clients $CLIENTS alone
        artifact org.apache.commons commons-pool2 $POOL alone
    fi
}

# Into a folder beside it, which is renamed when it is complete: two may fetch at once.
fetch_jars() {
    echo "headgate: fetching $(basename "$folder") from Maven Central" >&2
    mkdir -p "${folder%/*}" && fetched=$(mktemp -d "$folder.XXXXXX") || return 1
    {
        echo '<project><modelVersion>4.0.0</modelVersion>'
        echo "<groupId>headgate</groupId><artifactId>$what</artifactId><version>1</version><dependencies>"
        artifacts
        echo '</dependencies></project>'
    } >"$fetched/pom.xml"
    JAVA_HOME=$("$(dirname "$0")/java.sh") mvn -q -B -f "$fetched/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$fetched/jars" >&2 || { rm -rf "$fetched"; return 1; }
    [ -d "$folder" ] || mv "$fetched/jars" "$folder"
    rm -rf "$fetched"
}

install_maven() {
    echo "headgate: no Maven found; installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends maven >&2
}

find_jars && exit 0
if [ -z "$look_only" ] && [ -z "$given" ]; then
    if ! command -v mvn >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        install_maven
    fi
    command -v mvn >/dev/null 2>&1 && fetch_jars && find_jars && exit 0
fi
echo "headgate: Kafka is needed for its tests and benches: install Maven (Debian: sudo apt-get install maven) to fetch it, or set HEADGATE_KAFKA, and HEADGATE_SPARK_KAFKA for Spark's connector, to folders of jars" >&2
exit 1

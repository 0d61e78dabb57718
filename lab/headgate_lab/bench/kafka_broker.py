"""A real Kafka broker for tests, benches and the chaos harness: one node in KRaft mode, on a free port of loopback."""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
START_S = 60.0
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "2000",  # one that was killed is let in again after so long
    "broker.heartbeat.interval.ms": "500",
    "log.retention.ms": "-1",  # messages may carry old times
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
}


class NoKafka(RuntimeError):
    """Kafka cannot be had on this machine; the text says why."""


def find_kafka(fetch: bool = True) -> tuple[Path, Path]:
    """The folder of Kafka's jars, and the program `java`. NoKafka: one of them is missing."""
    jars = _said_by("kafka.sh", *(() if fetch else ("--find",)))
    return Path(jars), Path(_said_by("java.sh", "--find")) / "bin" / "java"


def spark_connector() -> str:
    """The jars of Spark's connector for Kafka, as `spark.jars` wants them. NoKafka: they cannot be had."""
    return ",".join(str(jar) for jar in sorted(Path(_said_by("kafka.sh", "--spark")).glob("*.jar")))


def _said_by(script: str, *arguments: str) -> str:
    done = subprocess.run([str(SCRIPTS / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoKafka(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


class Broker:
    """One broker. Its data are in `folder`, so that one that was stopped or killed goes on where it was."""

    def __init__(
        self, folder: Path, port: int | None = None, settings: Mapping[str, str] | None = None, fetch: bool = True
    ) -> None:
        """NoKafka: it cannot be had. `fetch` it if it is not there yet."""
        self._jars, self._java = find_kafka(fetch)
        self._folder = folder
        self._port, self._controller = (port or free_port()), free_port()
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self._port}"

    def start(self) -> str:
        """Start it and wait until it answers; returns the address for clients."""
        settings = self._folder / "server.properties"
        if not settings.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            settings.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
            identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            self._run("kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)).wait(START_S)
        self._process = self._run("kafka.Kafka", str(settings))
        self._wait_for_answer()
        return self.servers

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End it as an operator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    @property
    def log(self) -> str:
        """What it has said."""
        return (self._folder / "broker.log").read_text(errors="replace")

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _properties(self) -> dict[str, str]:
        return {
            **_SETTINGS,
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers}",
            "log.dirs": str(self._folder / "data"),
            **self._settings,
        }

    def _run(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._java), *_JVM, "-cp", f"{self._jars}/*", main, *arguments]
        with (self._folder / "broker.log").open("ab") as log:
            # In a group of its own: a Ctrl-C at the terminal is for the tests, which then stop it.
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def _wait_for_answer(self) -> None:
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": self.servers, "log_level": 0, "reconnect.backoff.max.ms": 200})
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                raise NoKafka(f"the broker ended with code {self._process.returncode}: {self.log[-2000:]}")
            try:
                client.list_topics(timeout=1)
            except Exception:  # it does not answer yet
                time.sleep(0.05)
            else:
                return
        self.kill()
        raise NoKafka(f"the broker did not answer within {START_S:g} s: {self.log[-2000:]}")

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def make_topic(servers: str, name: str, partitions: int = 1, **settings: Any) -> str:
    """Make a topic; returns its name."""
    from confluent_kafka.admin import AdminClient, NewTopic

    config = {key.replace("_", "."): str(value) for key, value in settings.items()}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
    client = AdminClient({"bootstrap.servers": servers})
    for made in client.create_topics([topic]).values():
        made.result(30)
    return name

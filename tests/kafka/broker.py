"""A real broker on loopback: one node that is its own controller (KRaft), from Maven's jars, in a folder of its own."""

import os
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tidings.model.errors import FileError, Problem
from tidings.spark.java import find_java
from tidings.spark.maven import fetched

VERSION = "4.1.1"
JARS = [f"org.apache.kafka:kafka_2.13:{VERSION}"]
CLUSTER = "tidings-tests-of-Kafka"
"""Sixteen bytes in base 64; each broker is a cluster of its own."""
PATIENCE_S = 60.0

SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
"""


class Broker:
    """A broker for as long as the context lasts; `bootstrap` is where it listens.

    It can also be killed and started again with what it has on its disk.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tidings-kafka-")
        self.folder = Path(self._folder.name)
        self.port, controller = _free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._settings = self.folder / "server.properties"
        self._settings.write_text(SETTINGS.format(port=self.port, controller=controller, folder=self.folder))
        self._process: subprocess.Popen[bytes] | None = None
        self._java = [str(find_java().home / "bin" / "java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._java += ["-cp", os.pathsep.join(map(str, fetched(f"kafka-{VERSION}", JARS)))]

    def __enter__(self) -> Self:
        try:
            formatting = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings)]
            subprocess.run([*self._java, *formatting], check=True, capture_output=True, timeout=PATIENCE_S)
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self._folder.cleanup()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with open(self.folder / "out.log", "ab") as out:
            command = [*self._java, "-Xms96m", "-Xmx256m", "kafka.Kafka", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.1)
        said = (self.folder / "out.log").read_text(errors="replace")[-2000:]
        self.end()
        raise FileError(Problem("kafka-unreachable", self.bootstrap, said, f"an answer within {PATIENCE_S:.0f} s"))

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def end(self) -> None:
        """End it as it likes to end, or else by force."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(15)
            self.kill()

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
        try:
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
            return bool(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False


def _free_ports(n: int) -> list[int]:
    """Ports that nobody listens at, all different: they are held until all are found."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports

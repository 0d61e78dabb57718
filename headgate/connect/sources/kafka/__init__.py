"""Topics of Kafka as streams."""

from headgate.connect.sources.kafka.kind import Kafka
from headgate.connect.sources.kafka.offsets import OffsetRange, Offsets, offset_ranges

__all__ = ["Kafka", "OffsetRange", "Offsets", "offset_ranges"]

"""A user function for sensors.yaml: Arrow batches in, Arrow batches out, row by row."""

import pyarrow as pa
import pyarrow.compute as pc


def comfort(batch: pa.RecordBatch) -> pa.RecordBatch:
    """How far a reading is from 21 degrees and 45 % humidity, in degrees; humidity counts a fifth."""
    temperature = pc.cast(batch.column("temperature"), pa.float64())
    humidity = pc.cast(batch.column("humidity"), pa.float64())
    off = pc.add(pc.abs(pc.subtract(temperature, 21.0)), pc.divide(pc.abs(pc.subtract(humidity, 45.0)), 5.0))
    return pa.RecordBatch.from_arrays([batch.column("location"), off], names=["location", "discomfort"])

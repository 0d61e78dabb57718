"""The message that a person sees when Spark raises an error."""

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from headgate.errors import RowText
from headgate.runtime.spark.failures.error_messages import essence

JAVA = """An error occurred while calling o7147.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:56)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2848)
Caused by: java.lang.ArithmeticException: long overflow
\tat java.base/java.lang.Math.addExact(Math.java:903)
"""
UPGRADE = """[INCONSISTENT_BEHAVIOR_CROSS_VERSION] You may get a different result due to the upgrading to Spark >= 3.0:
Fail to parse 'x' in the new parser."""
WORKER = """An exception was thrown from the Python worker.
Traceback (most recent call last):
  File "f.py", line 1, in f
ValueError: no such key: a
"""


class FakeJavaError(Py4JJavaError):
    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (FakeJavaError(JAVA), "long overflow"),
        (
            FakeJavaError("An error occurred while calling o404482.executedPlan.\n: java.lang.StackOverflowError"),
            "StackOverflow",
        ),
        (AnalysisException(UPGRADE), "Fail to parse 'x' in the new parser."),
        (RuntimeError(WORKER), "ValueError: no such key: a"),
        (ValueError(""), "ValueError"),
    ],
)
def test_the_message_names_the_cause(error: Any, cause: str) -> None:
    message = essence(error)
    assert cause in message
    assert "An error occurred while calling" not in message
    assert "\n" not in message
    assert isinstance(message, RowText)


def test_what_never_holds_values_of_rows_may_be_logged_whole() -> None:
    full = OSError(28, "No space left on device", "out/part-1.csv")
    assert essence(full) == str(full)
    assert not isinstance(essence(full), RowText)


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("[CAST_INVALID_INPUT] The value 'ann' of the type", "[CAST_INVALID_INPUT]"),
        ("ValueError: no such key: ann", "ValueError"),
        ("'ann' is no number", ""),
        ("annError", ""),
    ],
)
def test_the_class_of_an_error_is_all_that_is_said_without_rows(text: str, error_class: str) -> None:
    assert RowText(text).error_class == error_class

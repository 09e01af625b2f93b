"""Reasons: why a trial failed, in one line."""

from typing import Any

from spacelang.runtime.failures import described


class RepeatedError(Exception):
    """What a prefix of a pipeline raises again, without being fitted again.

    `reason` is the line that describes it; `step` says in which step of the pipeline it was raised, "" where that is
    not known.
    """

    def __init__(self, reason: str, step: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step


def reason_of(error: Exception, pipeline: Any) -> str:
    """One line that says what was raised, and in which step where the traceback leads through one."""
    if isinstance(error, RepeatedError):
        text, step = error.reason, error.step
    else:
        text, step = described(error), failed_step(error, pipeline)
    return f"{text} (step `{step}`)" if step else text


def failed_step(error: Exception, pipeline: Any) -> str:
    """The name of the step whose methods the traceback leads through first; "" where it leads through none."""
    frame = error.__traceback__
    while frame is not None:
        at_work = frame.tb_frame.f_locals.get("self")
        for name, step in pipeline.steps:
            if step is at_work:
                return str(name)
        frame = frame.tb_next
    return ""

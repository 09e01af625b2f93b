"""The reasons why trials fail, each in one line."""

from typing import Any

from spacelang.runtime.failures import describe_exception


class CachedFailureError(Exception):
    """A failure from the cache: fitting the same prefix has failed before.

    `reason` is the line that describes the error. `step` is the name of the step that raised it, or "" if that is
    unknown.
    """

    def __init__(self, reason: str, step: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step


def reason_of(error: Exception, pipeline: Any) -> str:
    """Return one line that describes an error, with the step that raised it if the traceback leads through one."""
    if isinstance(error, CachedFailureError):
        text, step = error.reason, error.step
    else:
        text, step = describe_exception(error), failed_step(error, pipeline)
    return f"{text} (step `{step}`)" if step else text


def failed_step(error: Exception, pipeline: Any) -> str:
    """Return the name of the first step of the pipeline in the traceback, or "" if there is none."""
    frame = error.__traceback__
    while frame is not None:
        at_work = frame.tb_frame.f_locals.get("self")
        for name, step in pipeline.steps:
            if step is at_work:
                return str(name)
        frame = frame.tb_next
    return ""

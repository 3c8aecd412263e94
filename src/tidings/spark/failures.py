"""What a failed job says about its cause. An error of a task reaches the driver as text, so that the text is marked."""

import re
from typing import Final

from tidings.model.errors import TidingsError


class PipelineError(TidingsError):
    """A pipeline cannot go on."""


STEP_FAILED: Final = "[tidings:step-failed]"
"""The matcher could not take an event of the block."""
STALE: Final = "[tidings:stale-epoch]"
"""A newer driver has taken over."""
_CRASHED: Final = re.compile(r"Python worker exited unexpectedly|Python worker failed to connect back|SIGSEGV")
_LOST: Final = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|Job \d+ cancelled because SparkContext was shut down"
)
_REASON: Final = re.compile(r"^(?:: |Caused by: |\s*)(?:[\w.]*\.)?(\w*(?:Error|Exception|Interrupt)\w*): (.*)$", re.M)


def is_stale(error: BaseException) -> bool:
    """Whether a newer driver has taken over."""
    return STALE in str(error)


def blames_events(error: BaseException) -> bool:
    """Whether the events themselves may be what cannot be done: the matcher failed, or its process died of them."""
    text = str(error)
    return STEP_FAILED in text or (_CRASHED.search(text) is not None and _LOST.search(text) is None)


def reason_of(error: BaseException) -> str:
    """The last line of what went wrong in a task."""
    text = str(error)
    if _CRASHED.search(text):
        return "the Python process that matched it died"
    marked = text.find(STEP_FAILED)
    if marked >= 0:
        return text[marked + len(STEP_FAILED) :].strip().splitlines()[0][:500]
    found = _REASON.findall(text)
    return ": ".join(found[0])[:500] if found else text.strip().splitlines()[0][:500] if text.strip() else repr(error)

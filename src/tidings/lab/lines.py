"""A workload of `within` as lines of a log, so that a pipeline is measured from what a publisher would write."""

from collections.abc import Iterator

import numpy as np

from tidings.columns.block import EXCLUDED_SHIFT
from tidings.lab.workloads import Workload
from tidings.model.events import Plane


def configure_line(workload: Workload) -> bytes:
    """The event at position 0."""
    assert isinstance(workload.space, Plane)
    bounds = ", ".join(map(repr, workload.space.bounds))
    return f'{{"op": "configure", "space": {{"plane": [{bounds}]}}}}'.encode()


def register_lines(workload: Workload, first: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The plain subscriptions of a workload: a box, and words that must all be there."""
    columns = workload.subscriptions
    end = len(columns.kind) if end is None else end
    names = columns.id.strings()
    words = columns.word.strings()
    bounds = columns.geometry.reshape(-1, 4).tolist()
    start, term = columns.term_start.tolist(), columns.term.tolist()
    for i in range(first, end):
        assert term[start[i]] >> EXCLUDED_SHIFT == 0
        when = " ".join(words[word] for word in term[start[i] + 1 : start[i + 1]])
        low_x, low_y, high_x, high_y = bounds[i]
        yield (
            f'{{"op": "register", "id": "{names[i]}", "kind": "within", "when": "{when}", '
            f'"where": {{"box": [{low_x!r}, {low_y!r}, {high_x!r}, {high_y!r}]}}}}'
        ).encode()


def message_lines(workload: Workload, first: int, end: int, number: int | None = None) -> Iterator[bytes]:
    """Messages first..end of a workload as texts at points; with `number`, ids count from there, so that the messages
    of a workload can be published again and again.
    """
    columns = workload.messages
    word = np.array(workload.words.strings(), object)[workload.message_word]
    places = columns.place.tolist()
    starts = columns.word_start.tolist()
    for i in range(first, end):
        text = " ".join(word[starts[i] : starts[i + 1]])
        name = i if number is None else number + i - first
        yield (
            f'{{"op": "publish", "id": "m{name}", "at": [{places[i][0]!r}, {places[i][1]!r}], "text": "{text}"}}'
        ).encode()

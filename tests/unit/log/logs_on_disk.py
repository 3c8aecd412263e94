"""Lines and logs for the tests of the durable log."""

import random

from tidings.log.store import EventLog


def message(number, **more):
    fields = "".join(f',"{name}":{value}' for name, value in more.items())
    return b'{"op":"publish","id":"m%d","at":[11.5,48.1],"text":"flood on the river"%b}' % (number, fields.encode())


def lines_of(log, first=0, end=2**62):
    return [line for frame in log.frames(first, end) for line in frame.lines()]


def filled(path, sizes, **options):
    """A log with a frame of each size."""
    number = 0
    with EventLog.open(path, create=True) as log:
        for size in sizes:
            log.append([message(number + i) for i in range(size)], **options)
            number += size
    return number


def sizes_at_random(seed, n):
    chance = random.Random(seed)
    return [chance.choice([1, 2, 5, 40, 200]) for _ in range(n)]

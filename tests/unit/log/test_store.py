"""The durable log in one process: what is taken, what is refused, what is read back."""

import threading
import time

import pytest
from tests.unit.log.logs_on_disk import filled, lines_of, message

from tidings.log import bookkeeping, group_commit
from tidings.log.frames import Frame
from tidings.log.store import EventLog
from tidings.log.verification import verify
from tidings.model.errors import FileError, InputError, LimitError
from tidings.model.events import Configure, Plane, Publish, Register, Tick
from tidings.model.limits import MAX_FRAME_BYTES, MAX_FRAME_EVENTS, MAX_PRODUCER_SEQUENCES, MAX_SUBMISSION_EVENTS
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Within

REMOVE = b'{"op":"remove","id":"s1"}'
REGISTER = b'{"op":"register","id":"s1","kind":"within","when":"flood AND bridge","where":"everywhere"}'


@pytest.fixture
def log(tmp_path):
    with EventLog.open(tmp_path / "city.log", create=True) as log:
        yield log


def test_what_is_appended_is_read_back_as_it_came(log):
    lines = [message(1), b'{ "op": "tick", "ts": 5 }', REGISTER]
    assert (log.start, log.end, log.configuration) == (0, 0, None)
    assert log.append(lines) == (0, 3, False, ())
    assert list(log.frames(0, 99)) == [Frame(0, 3, b"\n".join(lines))]
    assert list(log.frames(1, 2)) == [Frame(1, 1, lines[1])]
    assert (log.start, log.end, log.configuration) == (0, 3, Configure())


def test_structs_are_encoded_and_lines_with_breaks_are_joined(log):
    log.append([Publish("m1", at=(1.0, 2.0), text="x"), Register(Within("s1", Everywhere(), "flood")), Tick(3)])
    log.append([b'{"op":\n "tick",\r\n "ts": 4}\r\n'])
    lines = lines_of(log)
    assert len(lines) == 4
    assert lines[3] == b'{"op":"tick","ts":4}'
    assert log.append([b'{"op":"tick","ts":5}\n']).first == 4
    assert lines_of(log)[4] == b'{"op":"tick","ts":5}'


def test_all_or_nothing_with_all_problems_and_the_ledger_as_it_was(log):
    log.append([message(1)])
    bad = [message(2), b"{", REMOVE, message(1), REGISTER.replace(b"AND bridge", b"AND"), b'{"op":"configure"}']
    with pytest.raises(InputError) as caught:
        log.append(bad)
    found = [(problem.code, problem.line) for problem in caught.value.problems]
    codes = ["json-invalid", "id-unknown", "id-taken", "expression-syntax", "configure-late"]
    assert found == list(zip(codes, range(1, 6), strict=True))
    assert log.end == 1
    # Nothing of it stayed: the id is free, and no subscription is in force.
    assert log.append([message(2), REGISTER, REMOVE]).first == 1


def test_partial_takes_the_good_ones_and_tells_the_others(log):
    answer = log.append([b"{", message(1), REMOVE, message(2)], partial=True)
    assert answer[:3] == (0, 2, False)
    assert [(one.at, one.line, one.problems[0].code, one.problems[0].line) for one in answer.rejected] == [
        (0, b"{", "json-invalid", 0),
        (2, REMOVE, "id-unknown", 2),
    ]
    assert lines_of(log) == [message(1), message(2)]
    assert log.append([b"{"], partial=True)[:3] == (2, 0, False)


def test_the_configuration_holds_for_what_comes_after_it(log):
    configure = b'{"op":"configure","space":{"plane":[0,0,10,10]}}'
    far = b'{"op":"publish","id":"m1","at":[1000,5],"text":"x"}'
    with pytest.raises(InputError) as caught:
        log.append([configure, far])
    assert caught.value.problems[0].line == 1
    log.append([configure, far.replace(b"1000", b"9")])
    assert log.configuration is not None
    assert log.configuration.space == Plane((0.0, 0.0, 10.0, 10.0))
    with pytest.raises(InputError):
        log.append([far])


def test_many_threads_share_commits_and_keep_their_order(log, monkeypatch):
    n_threads, n_each = 8, 40

    def write(who):
        for i in range(n_each):
            log.append([message(1000 * who + 2 * i), message(1000 * who + 2 * i + 1)])

    log.append([message(999_999)])
    threads = [threading.Thread(target=write, args=(who,)) for who in range(1, n_threads + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = lines_of(log)
    assert len(lines) == log.end == 1 + 2 * n_threads * n_each
    for who in range(1, n_threads + 1):
        mine = [lines.index(message(1000 * who + i)) for i in range(2 * n_each)]
        assert mine == sorted(mine)
    assert log.stat().frames < n_threads * n_each


def test_reading_goes_on_while_appending(log):
    log.append([message(0)])
    done = threading.Event()
    seen = []

    def read():
        with EventLog.open(log.path, read_only=True) as reader:
            while not done.is_set() or len(seen) < reader.end:
                seen.extend(lines_of(reader, len(seen), reader.end))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(1, 200):
        log.append([message(i)])
    done.set()
    reader.join()
    assert seen == [message(i) for i in range(200)]


def test_a_repeated_submission_is_taken_once(log):
    assert log.append([message(1)], producer="p", sequence=7) == (0, 1, False, ())
    log.append([message(2)])
    again = [log.append_later([message(1)], producer="p", sequence=7) for _ in range(3)]
    assert [future.result() for future in again] == [(0, 1, True, ())] * 3
    assert log.append([message(3), message(4)], producer="p", sequence=8) == (2, 2, False, ())
    assert log.append([message(1)], producer="p", sequence=7).repeated
    assert log.end == 4


@pytest.mark.parametrize("sequence", [5, 9])
def test_a_sequence_out_of_order_is_refused(log, sequence):
    log.append([message(1)], producer="p", sequence=7)
    with pytest.raises(InputError) as caught:
        log.append([message(2)], producer="p", sequence=sequence)
    assert caught.value.code == "producer-sequence"
    assert log.end == 1


def test_a_refused_submission_has_not_used_its_sequence(log):
    log.append([message(1)], producer="p", sequence=1)
    with pytest.raises(InputError):
        log.append([message(1)], producer="p", sequence=2)
    assert not log.append([message(2)], producer="p", sequence=2).repeated


def test_producers_are_known_again_after_opening(tmp_path):
    path = tmp_path / "city.log"
    with EventLog.open(path, create=True) as log:
        for i in range(MAX_PRODUCER_SEQUENCES + 3):
            log.append([message(i)], producer="p", sequence=i)
    with EventLog.open(path) as log:
        assert log.append([message(9)], producer="p", sequence=MAX_PRODUCER_SEQUENCES + 2).repeated
        with pytest.raises(InputError, match="producer-sequence"):
            log.append([message(0)], producer="p", sequence=0)


@pytest.mark.parametrize(("producer", "sequence"), [("p", -1), ("", 3), ("x" * 129, 1), ("p", 2**63)])
def test_names_of_submissions_are_checked(log, producer, sequence):
    with pytest.raises(InputError) as caught:
        log.append([message(1)], producer=producer, sequence=sequence)
    assert caught.value.code == "option-invalid"


def test_submissions_are_bounded(log):
    with pytest.raises(LimitError):
        log.append([message(i) for i in range(MAX_SUBMISSION_EVENTS + 1)])
    big = [b'{"op":"publish","id":"b%d","at":[1,2],"text":"%b"}' % (i, b"x" * 60_000) for i in range(40)]
    log.append(big)
    frames = list(log.frames(0, 40))
    assert len(frames) > 1
    assert max(len(frame.payload) for frame in frames) <= MAX_FRAME_BYTES
    log.append([b'{"op":"tick","ts":%d}' % i for i in range(MAX_FRAME_EVENTS + 1)])
    assert [frame.n for frame in log.frames(40, 10**6)] == [MAX_FRAME_EVENTS, 1]


def test_who_appends_too_much_waits(log, monkeypatch):
    monkeypatch.setattr(group_commit, "MAX_PENDING_BYTES", 1000)
    futures = [log.append_later([message(i) for i in range(10 * k, 10 * k + 10)]) for k in range(50)]
    assert [future.result().first for future in futures] == list(range(0, 500, 10))


def test_an_empty_submission_appends_nothing(log):
    assert log.append([]) == (0, 0, False, ())
    log.append([message(1)])
    assert log.append([]) == (1, 0, False, ())


@pytest.mark.parametrize("first", [0, 1, 150, 399])
@pytest.mark.parametrize(("events", "n_bytes"), [(1, 10**9), (250, 10**9), (10**9, 5000), (10**9, 1), (3, 1)])
def test_reach_is_the_largest_within_both_bounds(tmp_path, first, events, n_bytes):
    filled(tmp_path / "city.log", [1, 100, 100, 199])
    with EventLog.open(tmp_path / "city.log", read_only=True) as log:
        lines = lines_of(log)
        end = log.reach(first, events, n_bytes)

        def fits(end):
            return end - first <= events and sum(len(line) + 1 for line in lines[first:end]) <= n_bytes

        assert first < end <= 400
        assert fits(end) or end == first + 1
        assert end == 400 or not fits(end + 1)


def test_reach_at_the_end_is_the_end(log):
    assert log.reach(0, 10, 10) == 0


def test_retention_keeps_what_is_needed_and_the_ledger_still_knows(tmp_path):
    path = tmp_path / "city.log"
    with EventLog.open(path, create=True) as log:
        log.append([b'{"op":"configure","window":{"messages":5000}}', REGISTER])
        for i in range(20):
            log.append([message(10 * i + k) for k in range(10)])
        log.need("spark", 57)
        assert log.retain(max_age_ms=None, max_bytes=0).start == 52
        assert log.start == 52
        log.need("spark", None)
        assert log.retain(max_bytes=1500).start > 100
        start = log.start
        with pytest.raises(FileError) as caught:
            list(log.frames(0, 10))
        assert caught.value.code == "position-gone"
        assert next(log.frames(start, log.end)).first == start
    assert verify(path) == []
    with EventLog.open(path) as log:
        assert log.configuration is not None
        assert log.configuration.window.messages == 5000
        for line in (message(3), REGISTER):
            with pytest.raises(InputError) as refused:
                log.append([line])
            assert refused.value.code == "id-taken"
        assert log.append([REMOVE]).first == 202
        assert log.retain(max_bytes=0).start == 202


def test_retention_by_age(log):
    log.append([message(1)])
    time.sleep(0.05)
    log.append([message(2)])
    assert log.retain(max_age_ms=10**9).n_events == 0
    assert log.retain(max_age_ms=30).start == 1
    assert log.retain(max_age_ms=0).start == 1


def test_compaction_merges_and_gives_room_back(tmp_path):
    path = tmp_path / "city.log"
    n = filled(path, [1] * 300 + [200] * 20)
    with EventLog.open(path) as log:
        before = lines_of(log)
        size = path.stat().st_size
        log.append([message(10**6)], producer="p", sequence=1)
        log.append([message(10**6 + 1)], producer="p", sequence=2)
        done = log.compact()
        assert done.frames == 1
        assert lines_of(log)[:n] == before
        log.retain(max_bytes=0)
        log.append([message(10**6 + 2)])
        assert log.retain(max_bytes=0).n_events == n + 2
        log.compact()
    assert verify(path) == []
    assert path.stat().st_size < size / 2
    with EventLog.open(path) as log:
        assert log.append([], producer="p", sequence=2).repeated


def test_a_full_disk_is_said_and_loses_nothing(log):
    log.append([message(0)], producer="p", sequence=0)
    writer = log._writer().db
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(FileError) as caught:
        log.append([message(i) for i in range(1, 2000)], producer="p", sequence=1)
    assert caught.value.code == "disk-full"
    assert log.end == 1
    assert log.append([message(5000)]).first == 1
    writer.execute("PRAGMA max_page_count=1073741823")
    assert log.append([message(i) for i in range(1, 2000)], producer="p", sequence=1) == (2, 1999, False, ())
    assert verify(log.path) == []


def test_checkpoints_make_opening_cheap(tmp_path, monkeypatch):
    path = tmp_path / "city.log"
    monkeypatch.setattr(bookkeeping, "CHECKPOINT_EVENTS", 100)
    monkeypatch.setattr(bookkeeping, "PART_IDS", 64)
    monkeypatch.setattr(group_commit, "CLOSING_CHECKPOINT_EVENTS", 10**9)
    with EventLog.open(path, create=True) as log:
        log.append([b'{"op":"configure","window":{"messages":300}}', REGISTER], producer="p", sequence=3)
        for k in range(100):
            log.append([message(10 * k + i, ts=k) for i in range(10)])
        time.sleep(0.5)
        checkpoint = log.stat().checkpoint
        assert checkpoint is not None
        assert checkpoint >= 300
    replayed = []
    plain = bookkeeping.Bookkeeping.replay
    monkeypatch.setattr(
        bookkeeping.Bookkeeping, "replay", lambda self, stored: (replayed.append(stored), plain(self, stored))
    )
    with EventLog.open(path) as log:
        with pytest.raises(InputError, match="id-taken"):
            log.append([message(990)])
        assert 0 <= len(replayed) < 70
        log.append([message(1), REMOVE])
        assert log.append([], producer="p", sequence=3) == (0, 2, True, ())
    assert verify(path) == []


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        EventLog.open(tmp_path / "none.log")
    (tmp_path / "text.log").write_bytes(b"not a log" * 1000)
    with pytest.raises(FileError):
        EventLog.open(tmp_path / "text.log", create=True)
    (tmp_path / "empty.log").touch()
    with EventLog.open(tmp_path / "empty.log", create=True) as log:
        log.append([message(1)])
    with EventLog.open(tmp_path / "empty.log", read_only=True) as log:
        assert log.end == 1
        with pytest.raises(FileError) as caught:
            log.append([message(2)])
        assert caught.value.code == "log-closed"
    with pytest.raises(FileError) as caught:
        _ = log.end
    assert caught.value.code == "log-closed"
    assert [path.name for path in tmp_path.iterdir() if ".new" in path.name] == []


def test_needs_are_kept(tmp_path):
    filled(tmp_path / "city.log", [3])
    with EventLog.open(tmp_path / "city.log") as log:
        log.need("a", 2)
        log.need("b", 1)
        log.need("a", 3)
        with pytest.raises(InputError):
            log.need("", 1)
    with EventLog.open(tmp_path / "city.log", read_only=True) as log:
        assert log.needs() == {"a": 3, "b": 1}

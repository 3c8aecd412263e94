"""Appending to a log: many submissions, one writer thread, one fsync for all that wait.

Whoever submits judges the events alone (`admission.Judge`), while the writer waits for the disk; the writer takes what
has gathered, judges it against the ledger in order, writes it as one frame or a few and commits. Nobody is answered
before the commit is durable. Another process may have appended in between: under the lock of the file the ledger first
catches up with that. When the commit fails, the ledger goes back to where it was and everybody is told.
"""

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from tidings.log.admission import Judge, Prepared, Rejected, admit, judge_of_first
from tidings.log.bookkeeping import Bookkeeping, Part
from tidings.log.frames import Submitted, frames_of
from tidings.log.producers import check_names
from tidings.log.store_schema import CONFIGURATION, closed, connect, insert_frame, told, write_note
from tidings.log.stored_facts import configuration_of, end_of, start_of
from tidings.log.wire import encode_event
from tidings.model.errors import FileError, TidingsError
from tidings.model.events import Event
from tidings.model.limits import MAX_PENDING_BYTES

GROUP_EVENTS: Final = 32_768
"""No more submissions are taken into a commit that has so many events."""
IDLE_S: Final = 0.05
"""After so long without submissions, the rest of a checkpoint is written."""
CLOSING_CHECKPOINT_EVENTS: Final = 20_000
"""Closing writes a checkpoint when opening again would have to replay more than this."""


class Appended(NamedTuple):
    """Where the events of a submission are."""

    first: int
    count: int  # type: ignore[assignment]
    repeated: bool
    """Whether this submission was in the log before."""
    rejected: tuple[Rejected, ...] = ()
    """What was not taken of a submission that may be taken in part."""


class _Submission(NamedTuple):
    given: Sequence[bytes | Event]
    prepared: Prepared
    producer: str
    sequence: int
    partial: bool
    judged: bool
    future: Future[Appended]


class Appender:
    """The one writer of a log in this process."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.db: Final = connect(path)
        self.lock: Final = threading.RLock()
        """Of the connection and all that the writer knows."""
        self._books: Bookkeeping | None = None
        self._parts: deque[Part] = deque()
        with told(path):
            configuration = configuration_of(self.db)
        self._judge = None if configuration is None else Judge(configuration)
        self._waiting: Final[SimpleQueue[_Submission | None]] = SimpleQueue()
        self._room: Final = threading.Condition()
        self._n_pending_bytes = 0
        self._closed = False
        self._thread: Final = threading.Thread(target=self._run, name=f"tidings-log-{path.name}", daemon=True)
        self._thread.start()

    def submit(
        self, events: Sequence[bytes | Event], producer: str, sequence: int, partial: bool, judged: bool
    ) -> "Future[Appended]":
        """Hand events to the writer; waits while too much is waiting already."""
        check_names(producer, sequence)
        judge = self._judge
        prepared = (judge or judge_of_first(events, partial=partial)).prepare(events)
        future: Future[Appended] = Future()
        submission = _Submission(events, prepared, producer, sequence, partial, judged, future)
        with self._room:
            while self._n_pending_bytes and self._n_pending_bytes + prepared.n_bytes > MAX_PENDING_BYTES:
                self._room.wait()
            if self._closed:
                raise closed(self.path)
            self._n_pending_bytes += prepared.n_bytes
            self._waiting.put(submission)
        return future

    def close(self) -> None:
        """Finish what waits, keep a checkpoint when it is worth it, and let the file go."""
        with self._room:
            if self._closed:
                return
            self._closed = True
            self._waiting.put(None)
            self._room.notify_all()
        self._thread.join()
        with self.lock:
            try:
                books = self._books
                if books is not None and books.position - books.checkpoint >= CLOSING_CHECKPOINT_EVENTS:
                    self.checkpoint()
            except FileError:
                # Everything is durable; without a checkpoint opening takes longer, that is all.
                pass
            finally:
                self.db.close()

    def checkpoint(self, *, alone: bool = False) -> int:
        """Keep what is known now as a checkpoint; answers its position. `alone`: older ones are not kept."""
        with self.lock, told(self.path):
            try:
                self.db.execute("BEGIN IMMEDIATE")
                books = self._caught_up()
                self._parts = books.parts()
                self._write_parts(len(self._parts))
                if alone:
                    self.db.execute("DELETE FROM ledger WHERE position < ?", (books.position,))
                self.db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            return books.position

    def _run(self) -> None:
        while True:
            try:
                first = self._waiting.get(timeout=IDLE_S if self._parts else None)
            except Empty:
                self._write_part_alone()
                continue
            if first is None:
                return
            with self.lock:
                more = self._commit(first)
            if not more:
                return

    def _commit(self, first: _Submission) -> bool:
        """Commit a submission and all that wait behind it; False when nothing comes any more."""
        group, more, turn = [first], True, _Turn()
        failure: BaseException | None = None
        try:
            with told(self.path):
                self.db.execute("BEGIN IMMEDIATE")
                more = self._gather(group)
                books = self._caught_up()
                turn.judge = self._judge
                turn.admit(group, books)
                self._write(turn, books)
                if self._parts:
                    self._write_parts(1)
                self.db.execute("COMMIT")
        except BaseException as error:
            failure = error
            self._roll_back()
        else:
            self._judge = turn.judge
            books.keep(turn.end)
            if not self._parts and books.is_due():
                self._parts = books.parts()
        with self._room:
            self._n_pending_bytes -= sum(submission.prepared.n_bytes for submission in group)
            self._room.notify_all()
        _answer(group, turn.answers, failure)
        return more

    def _gather(self, group: list[_Submission]) -> bool:
        n_events = len(group[0].prepared.lines)
        while n_events < GROUP_EVENTS:
            try:
                submission = self._waiting.get_nowait()
            except Empty:
                break
            if submission is None:
                return False
            group.append(submission)
            n_events += len(submission.prepared.lines)
        return True

    def _caught_up(self) -> Bookkeeping:
        """What is known, with what other processes appended; only under the lock of the file."""
        if self._books is None:
            self._books = Bookkeeping.of(self.db, self.path)
        end = end_of(self.db)
        if self._books.position != end:
            if self._books.position < start_of(self.db):
                self._books = Bookkeeping.of(self.db, self.path)
            self._books.catch_up(self.db, self.path, end)
        configuration = configuration_of(self.db) if end and self._judge is None else None
        if configuration is not None:
            self._judge = Judge(configuration)
        return self._books

    def _write(self, turn: "_Turn", books: Bookkeeping) -> None:
        lines, first, time_ms = turn.lines, books.position, time.time_ns() // 1_000_000
        turn.end = first + len(lines)
        if not lines:
            return
        if self._judge is None:
            assert turn.judge is not None
            write_note(self.db, CONFIGURATION, encode_event(turn.judge.configuration))
        for start, end in frames_of(lines):
            at = first + start
            came = [one for one in turn.submitted if at <= one.first < first + end]
            insert_frame(self.db, at, lines[start:end], time_ms, came)

    def _write_parts(self, n: int) -> None:
        for _ in range(n):
            part = self._parts.popleft()
            self.db.execute("INSERT INTO ledger (position, data) VALUES (?, ?)", part.row())
        if not self._parts and self._books is not None:
            self._books.checkpoint = part.position
            kept = self.db.execute("SELECT DISTINCT position FROM ledger ORDER BY position DESC LIMIT 2").fetchall()
            self.db.execute("DELETE FROM ledger WHERE position < ?", kept[-1])

    def _write_part_alone(self) -> None:
        """Nobody appends, so that the checkpoint can be finished."""
        with self.lock:
            try:
                with told(self.path):
                    self.db.execute("BEGIN IMMEDIATE")
                    self._write_parts(1)
                    self.db.execute("COMMIT")
            except FileError:
                # There will be another one; nobody waits for this.
                self._roll_back()

    def _roll_back(self) -> None:
        """Nothing came of what was begun."""
        with contextlib.suppress(sqlite3.Error):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
        # A checkpoint that lacks a part is none.
        self._parts.clear()
        if self._books is not None:
            self._books.go_back()


class _Turn:
    """What comes of the submissions of one commit."""

    def __init__(self) -> None:
        self.judge: Judge | None = None
        """Under the log's configuration; None while it is empty."""
        self.answers: list[Appended | TidingsError] = []
        self.lines: list[bytes] = []
        self.submitted: list[Submitted] = []
        self.end = 0

    def admit(self, group: Sequence[_Submission], books: Bookkeeping) -> None:
        """Judge the submissions one after the other, in the place where each would stand."""
        books.begin()
        for submission in group:
            try:
                self.answers.append(self._admitted(submission, books))
            except TidingsError as error:
                self.answers.append(error)

    def _admitted(self, submission: _Submission, books: Bookkeeping) -> Appended:
        producer, sequence, prepared = submission.producer, submission.sequence, submission.prepared
        if producer:
            known = books.producers.find(producer, sequence)
            if known is not None:
                return Appended(known.first, known.count, True)
        if self.judge is not None and prepared.configuration != self.judge.configuration:
            prepared = self.judge.prepare(submission.given)
        position = books.position + len(self.lines)
        admitted = admit(prepared, books.ledger, position, partial=submission.partial, judged=submission.judged)
        n = len(admitted.lines)
        if n:
            self.lines += admitted.lines
            self.judge = self.judge or Judge(prepared.configuration)
        if n and producer:
            self.submitted.append(Submitted(producer, sequence, position, n))
            books.producers.stage(self.submitted[-1])
        return Appended(position, n, False, admitted.rejected)


def _answer(
    group: Sequence[_Submission], answers: Sequence[Appended | TidingsError], failure: BaseException | None
) -> None:
    """Tell everybody; who was refused was refused whatever became of the others."""
    for i, submission in enumerate(group):
        answer = answers[i] if i < len(answers) else None
        if isinstance(answer, TidingsError):
            submission.future.set_exception(answer)
        elif failure is not None:
            submission.future.set_exception(failure)
        elif answer is not None:
            submission.future.set_result(answer)

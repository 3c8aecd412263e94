"""What the tasks of `problems` do: look at rows, and tell what is wrong with them."""

from collections.abc import Iterator

import pyarrow as pa

from tidings.columns.encode import BlockBuilder
from tidings.model.errors import InputError
from tidings.model.events import Configure
from tidings.spark.message_rows import checked
from tidings.spark.row_problems import RowProblem, problem_batch
from tidings.spark.subscription_rows import registrations


class MessageProblems:
    """Rows of messages -> problems."""

    def __init__(self, configuration: Configure) -> None:
        self._configuration = configuration

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The problems of one partition."""
        for batch in batches:
            yield problem_batch("messages", checked(batch, self._configuration.space).problems)


class SubscriptionProblems:
    """Rows of subscriptions -> problems; `implied` is the kind of all of them, when there is no column for it."""

    def __init__(self, configuration: Configure, implied: str | None) -> None:
        self._configuration = configuration
        self._implied = implied

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The problems of one partition."""
        builder = BlockBuilder(self._configuration)
        for batch in batches:
            found: list[RowProblem] = []
            for number, row in enumerate(registrations(batch, self._configuration.space, self._implied)):
                if isinstance(row, list):
                    found += row
                    continue
                try:
                    builder.add(number, row)
                except InputError as error:
                    found += [RowProblem(row.subscription.id, problem) for problem in error.problems]
            builder.build()
            yield problem_batch("subscriptions", found)

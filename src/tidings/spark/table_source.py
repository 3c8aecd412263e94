"""The data source `tidings`: logs and deliveries as DataFrames, batch and streaming.

register(spark)
spark.readStream.format("tidings").load("city.log")
spark.read.format("tidings").option("deliveries", "city.log.state").load()
frame.writeStream.format("tidings").option("checkpointLocation", …).start("city.log")
"""

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from tidings.model.errors import InputError, Problem
from tidings.spark.event_columns import DELTA_COLUMNS, EVENT_COLUMNS, check_columns
from tidings.spark.event_lines import check_writable
from tidings.spark.log_readers import DeliveriesTable, LogTable, Table, TableReader, TableStreamReader
from tidings.spark.log_writers import LogStreamWriter, LogWriter
from tidings.spark.source_options import ReadOptions, path_of


def register(session: SparkSession) -> None:
    """Make `format("tidings")` known to a session."""
    session.dataSource.register(TidingsSource)


class TidingsSource(DataSource):
    """Logs and deliveries."""

    @classmethod
    def name(cls) -> str:
        """How it is asked for."""
        return "tidings"

    def schema(self) -> StructType:
        """The columns when nobody asks for some."""
        return DELTA_COLUMNS if self._reads_deliveries else EVENT_COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch query."""
        return TableReader(self._table(schema), ReadOptions.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """A streaming query."""
        return TableStreamReader(self._table(schema), ReadOptions.of(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Rows appended by a batch query."""
        path = self._target(overwrite)
        check_writable(schema)
        return LogWriter(path, self.options.get("producer", ""), self.options.get("sequence", ""))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Rows appended by a streaming query."""
        path = self._target(overwrite)
        check_writable(schema)
        return LogStreamWriter(path)

    @property
    def _reads_deliveries(self) -> bool:
        return "deliveries" in self.options

    def _table(self, schema: StructType) -> Table:
        check_columns(schema, self.schema())
        if self._reads_deliveries:
            return DeliveriesTable(self.options["deliveries"], schema, self.options.get("subscription"))
        return LogTable(path_of(self.options), schema)

    def _target(self, overwrite: bool) -> str:
        wrong = []
        if overwrite:
            wrong.append(Problem("option-invalid", "mode", "overwrite or complete", "append", "a log only grows"))
        if self._reads_deliveries:
            hint = "they are what a pipeline answers"
            wrong.append(Problem("option-invalid", "deliveries", "a place to write to", "the path of a log", hint))
        if wrong:
            raise InputError(wrong)
        return path_of(self.options)

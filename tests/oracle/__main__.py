"""`python -m tests.oracle LOG.ndjson [OUT]`: the deltas of a log, to a file or to standard output."""

import json
import sys
from pathlib import Path

from tests.oracle.semantics import deltas_of


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        raise SystemExit(__doc__)
    lines = Path(arguments[0]).read_text(encoding="utf-8").split("\n")
    log = [json.loads(line) for line in lines if line]
    answer = "".join(json.dumps(delta, ensure_ascii=False) + "\n" for delta in deltas_of(log))
    if len(arguments) == 2:
        Path(arguments[1]).write_text(answer, encoding="utf-8")
    else:
        sys.stdout.buffer.write(answer.encode())


main(sys.argv[1:])

"""`python -m tests.crash [--trials N] [--seed S] [--json]`: break a pipeline again and again while events come in, and
see whether what it delivers is what it should be: nothing lost, nothing doubled.

Status 0 when that is so. The campaign is the same for the same seed, but for the moments that chance decides.
"""

import argparse
import os
import signal
import sys

import msgspec

from tests.crash.campaign import CLUSTER, LOCAL, campaign, table


def main() -> int:
    """Run it and tell."""
    # Whoever ends the campaign ends all that it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--trials", type=int, default=200, help="how many faults (200)")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TIDINGS_SEED", "20260")), help="of everything")
    parser.add_argument("--json", action="store_true", help="the whole report")
    parser.add_argument("--patience", type=float, default=90.0, help="seconds without progress that are a failure (90)")
    parser.add_argument("--master", choices=[LOCAL, CLUSTER], help="only this one")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    more = {} if options.master is None else {"masters": (options.master,)}
    report = campaign(options.trials, options.seed, patience_s=options.patience, **more)
    print(msgspec.json.format(msgspec.json.encode(report)).decode() if options.json else table(report))
    return 0 if report.is_right else 1


sys.exit(main())

"""The outside world of all comparisons: a tool that pays, and a kill."""

import os
import signal
import sys
from pathlib import Path

DIRECTORY = Path(sys.argv[1])
"""Files that outlive the process."""

IS_FIRST = sys.argv[2] == "first"
"""True in the process that is killed, False in the one that resumes."""

LEDGER = DIRECTORY / "ledger"


def pay_invoice() -> str:
    """Adds a line to the ledger. The first process is killed before it returns."""
    with LEDGER.open("a") as ledger:
        ledger.write("paid\n")
        ledger.flush()
        os.fsync(ledger.fileno())
    if IS_FIRST:
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"

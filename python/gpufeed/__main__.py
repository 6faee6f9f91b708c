"""``python -m gpufeed``: the command ``gpufeed``."""

from __future__ import annotations

import signal
import sys

from gpufeed import _gpufeed


def main() -> int:
    """Runs the command with the program's arguments; returns its exit status."""
    # The command waits in native code, where Python's handler would not run: Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _gpufeed.command(["gpufeed", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

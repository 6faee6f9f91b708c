"""`scripts/hardware.sh` by its subcommands."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

COMMANDS = ("pack", "run", "report", "rehearse")


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: scripts/hardware.sh {'|'.join(COMMANDS)} ...", file=sys.stderr)
        return 2
    if sys.version_info < (3, 9):
        print(f"Python 3.9 is needed; this is {sys.version.split()[0]}; PYTHON=... names another", file=sys.stderr)
        return 2
    # The packed folder has `run` alone.
    try:
        command = __import__(sys.argv[1])
    except ModuleNotFoundError as error:
        if error.name != sys.argv[1]:
            raise
        print(f"{sys.argv[1]} is not here: run it in a clone of the repository", file=sys.stderr)
        return 2
    return command.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())

"""``python -m gpufeed``: the command ``gpufeed``."""

from __future__ import annotations

import os
import signal
import sys

from gpufeed import _gpufeed


def silence_mesa() -> None:
    """Switches off Mesa's layer that sorts devices, which prints a line for each Vulkan instance where there is no desktop session.

    As the program in Rust does (crates/cli/src/mesa.rs): gpufeed sorts devices itself.
    """
    configured = {"NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME"} & os.environ.keys()
    if not configured and not os.path.isabs(os.environ.get("XDG_RUNTIME_DIR", "")):
        os.environ["NODEVICE_SELECT"] = "1"


def main() -> int:
    """Runs the command with the program's arguments; returns its exit status."""
    silence_mesa()
    # The command waits in native code, where Python's handler would not run: Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _gpufeed.command(["gpufeed", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

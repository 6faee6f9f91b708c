"""``python -m gpufeed``: the command ``gpufeed``."""

from __future__ import annotations

import os
import signal
import sys

from gpufeed import _gpufeed


def silence_mesa() -> None:
    """Switches off Mesa's layer that sorts devices. Without a desktop session, the layer prints a line for each Vulkan
    instance.

    The program in Rust does the same (crates/cli/src/mesa.rs). gpufeed sorts devices itself.
    """
    configured = {"NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME"} & os.environ.keys()
    if not configured and not os.path.isabs(os.environ.get("XDG_RUNTIME_DIR", "")):
        os.environ["NODEVICE_SELECT"] = "1"


def main() -> int:
    """Runs the command with the program's arguments, and returns its exit status."""
    silence_mesa()
    # While the command waits in native code, Python's handler would not run. With the system's handler, Ctrl-C ends the
    # process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _gpufeed.command(["gpufeed", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

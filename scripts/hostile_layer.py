#!/usr/bin/env python3
"""Builds the Vulkan layer of `scripts/hostile/`, and runs a command under it.

    scripts/hostile_layer.py [--adapters N] MODES COMMAND...     such as `discrete,fma gpufeed doctor`

The command runs on the system's lavapipe. MODES is a list of those in `scripts/hostile/modes.h`; with --adapters N the
machine has N adapters of one name, each with a UUID and a PCI address of its own. The driver's and gpufeed's caches are in
a folder that is new for each command, so that no shader of another mode is taken. Needs a C compiler; Vulkan's and SPIR-V's
headers, and spirv-opt for the mode `inline`, are Debian's, unpacked under target/unpacked where the system has none.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import unpack

SOURCES = Path(__file__).resolve().parent / "hostile"
BUILT = unpack.UNPACKED.parent / "hostile"
NAME = "VK_LAYER_gpufeed_hostile"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-pthread", "-O2", "-fvisibility=hidden", "-Wl,-z,defs"]
FLAGS += ["-Wall", "-Wextra", "-Werror"]
SUITE = "trixie"
PACKAGES = ["libvulkan-dev", "spirv-headers", "spirv-tools", "libc6", "libstdc++6", "libgcc-s1"]


def unpacked(wanted: str) -> Path:
    """The folder of the packages; the archive is not asked where the wanted file is there."""
    folder = unpack.UNPACKED / SUITE
    return folder if (folder / wanted).exists() else unpack.unpack(SUITE, PACKAGES)


def headers() -> list[str]:
    """The flags by which a C compiler finds Vulkan's headers and SPIR-V's."""
    wanted = ["usr/include/vulkan/vk_layer.h", "usr/include/spirv/unified1/spirv.h"]
    if all((Path("/") / header).exists() for header in wanted):
        return []
    return ["-isystem", str(unpacked(wanted[1]) / "usr/include")]


def spirv_tool(program: str) -> list[str]:
    """The command of spirv-as, spirv-val or spirv-opt."""
    found = shutil.which(program)
    return [found] if found else unpack.command(unpacked(f"usr/bin/{program}"), program)


def build() -> Path:
    """The layer's library, built where a source is newer. The manifest is beside it."""
    library = BUILT / "libgpufeed_hostile.so"
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    if not library.exists() or library.stat().st_mtime < newest:
        compiler = shlex.split(os.environ.get("CC", "cc"))
        if shutil.which(compiler[0]) is None:
            raise FileNotFoundError(f"there is no C compiler {compiler[0]}: install one, such as gcc")
        BUILT.mkdir(parents=True, exist_ok=True)
        # Written beside it first: another process may have it loaded.
        new = library.with_suffix(f".{os.getpid()}")
        subprocess.run([*compiler, *FLAGS, *headers(), *sorted(SOURCES.glob("*.c")), "-o", new], check=True)
        new.replace(library)
    about = {"name": NAME, "type": "GLOBAL", "library_path": str(library), "api_version": "1.3.0"}
    about |= {"implementation_version": "1", "description": "A driver as another one may be"}
    about |= {"device_extensions": [{"name": "VK_EXT_pci_bus_info", "spec_version": "2", "entrypoints": []}]}
    write_new(BUILT / "layer.json", json.dumps({"file_format_version": "1.2.0", "layer": about}))
    return library


def write_new(file: Path, text: str) -> None:
    """Writes a file that has another text: another process may read it."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def environment(modes: str, caches: Path) -> dict[str, str]:
    """The environment that loads the layer with these modes. `caches` is a folder for the shaders of these modes alone."""
    build()
    loads = {"VK_LAYER_PATH": str(BUILT), "VK_INSTANCE_LAYERS": NAME, "GPUFEED_HOSTILE": modes}
    loads["XDG_CACHE_HOME"] = str(caches)
    if "inline" in modes.split(","):
        loads["GPUFEED_HOSTILE_OPTIMIZER"] = shlex.join(spirv_tool("spirv-opt"))
    return loads


def adapters(manifest: Path, count: int) -> dict[str, str]:
    """The environment in which Vulkan's loader finds `count` adapters of one driver: it asks the driver's library once for
    each copy of the manifest. Under the layer each has a UUID and a PCI address of its own."""
    folder = BUILT / "adapters"
    folder.mkdir(parents=True, exist_ok=True)
    copies = [folder / f"{number}.json" for number in range(count)]
    for copy in copies:
        write_new(copy, manifest.read_text())
    every = ":".join(map(str, copies))
    return {"WGPU_BACKEND": "vulkan", "VK_DRIVER_FILES": every, "VK_ICD_FILENAMES": every}


def lavapipe_manifest() -> Path:
    """The manifest of the system's lavapipe."""
    found = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not found:
        raise FileNotFoundError("the system has no lavapipe: scripts/test.sh installs it")
    return found[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adapters", type=int, default=1, metavar="N")
    parser.add_argument("modes")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("no command")
    with tempfile.TemporaryDirectory() as caches:
        try:
            loads = environment(arguments.modes, Path(caches)) | adapters(lavapipe_manifest(), arguments.adapters)
        except (OSError, ValueError) as error:
            print(f"not to be had: {error}", file=sys.stderr)
            return 1
        return subprocess.run(arguments.command, env=os.environ | {"NODEVICE_SELECT": "1"} | loads).returncode


if __name__ == "__main__":
    sys.exit(main())

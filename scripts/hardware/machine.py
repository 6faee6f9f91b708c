"""What the machine has: its libraries and drivers for Vulkan, and what fills their gaps; its processor and cards."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

# Where Vulkan's loader looks by itself, and where NVIDIA's containers have their driver.
MANIFESTS = (
    "/etc/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
)
ELSEWHERE = Path("/usr/local/nvidia")
# The part of a software driver's file name.
SOFTWARE = ("lvp", "swiftshader")
NVIDIA_LIBRARY = "libGLX_nvidia.so.0"


def loads(library: str, folders: Sequence[Path] = ()) -> bool:
    """True if a library loads here, with what it asks for in `folders` where the system lacks that."""
    if folders:
        # A process of its own: the linker reads the variable as a process begins.
        load = [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", library]
        environment = {**os.environ, "LD_LIBRARY_PATH": search_path(folders)}
        try:
            return subprocess.run(load, env=environment, capture_output=True, timeout=5).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def search_path(folders: Sequence[Path]) -> str:
    before = os.environ.get("LD_LIBRARY_PATH")
    return ":".join([*([before] if before else []), *map(str, folders)])


def variables(work: Path, carried: Path) -> Tuple[Dict[str, str], List[str]]:
    """The variables with which programs find Vulkan's loader and the driver, and what was done about it."""
    added: Dict[str, str] = {}
    said: List[str] = []
    folders: List[Path] = []
    names = sorted(path.name for path in carried.glob("*.so*")) if carried.is_dir() else []
    lacking = [name for name in names if not loads(name)]
    if lacking:
        gaps = work / "gaps"
        gaps.mkdir(exist_ok=True)
        for name in lacking:
            shutil.copy(carried / name, gaps / name)
        folders.append(gaps)
        said.append(f"carried: {', '.join(lacking)}")
        broken = [name for name in lacking if not loads(str(gaps / name), folders)]
        if broken:
            said.append(f"carried, but they do not load here: {', '.join(broken)}")
    if "libvulkan.so.1" in lacking or not loads("libvulkan.so.1"):
        said.append("the system has no Vulkan loader" + ("" if "libvulkan.so.1" in names else ", and none was packed"))
    else:
        said.append("the system's Vulkan loader")

    given = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    if given:
        said.append(f"drivers: VK_DRIVER_FILES has {', '.join(Path(path).name for path in given.split(':'))}")
    else:
        files, library_folder, how = drivers(work, installed(), has_nvidia(), ELSEWHERE, folders)
        if library_folder:
            folders.append(library_folder)
        if files:
            # Two names: the second is that of loaders before 1.3.207.
            added["VK_DRIVER_FILES"] = added["VK_ICD_FILENAMES"] = ":".join(map(str, files))
        said.append(f"drivers: {how}")
    vendor = ELSEWHERE / "share/glvnd/egl_vendor.d/10_nvidia.json"
    if vendor.is_file() and not Path("/usr/share/glvnd/egl_vendor.d/10_nvidia.json").exists():
        added["__EGL_VENDOR_LIBRARY_FILENAMES"] = str(vendor)
    if folders:
        added["LD_LIBRARY_PATH"] = search_path(folders)
    return added, said


def has_nvidia() -> bool:
    return Path("/dev/nvidiactl").exists() or Path("/proc/driver/nvidia/version").exists()


def installed() -> List[Path]:
    home = Path(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"))
    return [path for folder in (*map(Path, MANIFESTS), home / "vulkan/icd.d") for path in sorted(folder.glob("*.json"))]


def drivers(
    work: Path, found: List[Path], nvidia: bool, elsewhere: Path, carried: Sequence[Path] = ()
) -> Tuple[List[Path], Optional[Path], str]:
    """The manifests that programs should see (none: those that the loader finds), a folder of libraries that they need
    and the linker does not look into, and the words for it. NVIDIA's library may need some of the folders `carried`."""
    hardware = [path for path in found if not any(word in path.name for word in SOFTWARE)]
    names = ", ".join(path.name for path in hardware)
    left_out = "; software drivers are left out" if hardware and len(hardware) < len(found) else ""
    libraries = elsewhere / "lib64"
    folder = libraries if nvidia and libraries.is_dir() and not loads(NVIDIA_LIBRARY) else None
    if not nvidia or any("nvidia" in path.name for path in hardware):
        if not hardware:
            return [], None, ", ".join(path.name for path in found) or "none is installed"
        return hardware, folder, names + left_out
    # A driver without a manifest of Vulkan: containers often have the one and not the other.
    manifests = sorted((elsewhere / "share/vulkan/icd.d").glob("nvidia*.json"))
    if manifests:
        return [*manifests, *hardware], folder, f"NVIDIA's, of {manifests[0]}{left_out}"
    place = folder / NVIDIA_LIBRARY if folder else Path(NVIDIA_LIBRARY)
    if loads(str(place), [*carried, *([folder] if folder else [])]):
        own = work / "nvidia_icd.json"
        driver = {"file_format_version": "1.0.0", "ICD": {"library_path": str(place), "api_version": "1.3.0"}}
        own.write_text(json.dumps(driver), encoding="utf-8")
        return [own, *hardware], folder, "NVIDIA's, by a manifest made here: none of NVIDIA's is installed"
    mends = "a container needs NVIDIA_DRIVER_CAPABILITIES=all, a server the driver's graphics part"
    reason = f"NVIDIA's kernel driver is here, but no {NVIDIA_LIBRARY} that loads: {mends}"
    return hardware, None, f"{reason}{'; ' + names if names else ''}"


def facts() -> dict:
    """The system, its processor and memory; no name of the machine."""

    def read(path: str) -> str:
        return Path(path).read_text(errors="replace") if Path(path).exists() else ""

    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"), re.MULTILINE)
    model = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    return {
        "system": system[1] if system else platform.system(),
        "kernel": platform.release(),
        "processor": model[1].strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "glibc": libc(),
        "python": platform.python_version(),
    }


def libc() -> str:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").replace("glibc ", "")
    except (ValueError, OSError):
        return ""


def windows() -> List[str]:
    """How much of each card's memory the processor sees: a window of 256 MiB, or all of it."""
    said = []
    if shutil.which("nvidia-smi"):
        try:
            done = subprocess.run(["nvidia-smi", "-q", "-d", "MEMORY"], capture_output=True, text=True, timeout=10)
            said += nvidia_windows(done.stdout)
        except (OSError, subprocess.TimeoutExpired) as error:
            said.append(f"nvidia-smi: {error}")
    for seen in sorted(Path("/sys/class/drm").glob("card*/device/mem_info_vis_vram_total")):
        whole = seen.with_name("mem_info_vram_total")
        try:
            memory, window = (int(path.read_text()) >> 20 for path in (whole, seen))
        except (OSError, ValueError) as error:
            said.append(f"{seen.parts[-3]}: {error}")
        else:
            said.append(f"{seen.parts[-3]}: {memory} MiB, {window} of it in the processor's window")
    return said


def nvidia_windows(text: str) -> List[str]:
    found = re.findall(
        r"FB Memory Usage\s+Total\s*: (\d+) MiB.*?BAR1 Memory Usage\s+Total\s*: (\d+) MiB", text, re.DOTALL
    )
    return [
        f"NVIDIA {number}: {memory} MiB, {window} of it in the processor's window"
        for number, (memory, window) in enumerate(found)
    ]

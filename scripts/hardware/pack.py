"""`scripts/hardware.sh pack`: builds what a machine with a GPU runs, and packs it into one folder.

The programs are those of this machine's kind and C library; the manifest says which they need there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict, List, Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import parts  # noqa: E402
import unpack  # noqa: E402

ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
TESTS = ("pixels", "pipeline", "cache", "handover", "faults")
PHOTOGRAPHS = 64
# Golden data that tests read from the repository when they run.
TREE = ("tests/golden/photometric", "tests/golden/crops", "shaders")
# Scripts that a machine with a GPU has no use for.
STAYS = ("pack.py", "report.py", "rehearse.py", "stubs.py")
# What tests read of the vectors of transforms.
TRANSFORMS = ("manifest.json", "inputs.bin", "vectors.bin", "tables.json")
# An old Debian's, for the sake of old C libraries: Vulkan's loader, and what NVIDIA's driver asks for.
SUITE = "bookworm"
PACKAGES = (
    "libvulkan1",
    "libegl1",
    "libglvnd0",
    "libgl1",
    "libglx0",
    "libx11-6",
    "libxext6",
    "libxcb1",
    "libxau6",
    "libxdmcp6",
    "libbsd0",
    "libmd0",
)
# Bytes that a machine lent to this project's sessions takes, the repository's files among them.
LENT = 64 << 20


def run(command: List[str], env: Optional[Dict[str, str]] = None) -> str:
    print(f"$ {shlex.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def selection() -> List[str]:
    """The packages and features that all scripts build."""
    said = subprocess.run(
        ["bash", "-c", '. scripts/system.sh; printf "%s\\n" "${selected[@]}"'],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return said.stdout.split()


def executables(messages: str) -> Dict[str, Path]:
    """The programs that cargo names, by their target's name."""
    found = {}
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable"):
            found[message["target"]["name"]] = Path(message["executable"])
    return found


def programs(staged: Path) -> Dict[str, Path]:
    """Builds the programs and strips copies of them."""
    build = {"CARGO_TERM_COLOR": "never", **os.environ}
    messages = ["--message-format", "json-render-diagnostics"]
    tests = [word for name in TESTS for word in ("--test", name)]
    built = executables(run(["cargo", "test", *selection(), *tests, "--no-run", *messages], env=build))
    built.update(executables(run(["cargo", "build", *selection(), "--example", "bits", *messages], env=build)))
    release = ["cargo", "build", "--release", "-p", "gpufeed-cli", "--features", "lmdb,parquet,remote", *messages]
    built.update({name: path for name, path in executables(run(release, env=build)).items() if name == "gpufeed"})
    probe = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        str(HERE / "external_memory" / "Cargo.toml"),
        *messages,
    ]
    built.update(executables(run(probe, env={**build, "CARGO_TARGET_DIR": str(TARGET / "hardware")})))
    staged.mkdir(parents=True)
    stripped = {}
    for name in ("gpufeed", *TESTS, "bits", "external_memory"):
        stripped[name] = staged / name
        shutil.copy(built[name], stripped[name])
        run(["strip", "--strip-all", str(stripped[name])])
    return stripped


def wheel(staged: Path) -> Dict[str, Path]:
    """The files of the wheel for CPython 3.10 and later, as pip would install them."""
    folder = TARGET / "hardware" / "wheels"
    run(["scripts/wheels.sh", "--stable", str(folder)])
    (found,) = folder.glob("gpufeed-*-abi3-*.whl")
    staged.mkdir(parents=True)
    with zipfile.ZipFile(found) as archive:
        archive.extractall(staged)
    return files(staged)


def photographs(folder: Path) -> Dict[str, Path]:
    """Some of the JPEGs of class folders, evenly."""
    found = sorted(path for path in folder.glob("*/*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if len(found) < PHOTOGRAPHS:
        raise FileNotFoundError(f"{folder} has {len(found)} JPEGs in class folders; {PHOTOGRAPHS} are needed")
    chosen = [found[index * len(found) // PHOTOGRAPHS] for index in range(PHOTOGRAPHS)]
    return {str(path.relative_to(folder)): path for path in chosen}


def loaders() -> Dict[str, Path]:
    """The libraries of the packages, by the names under which programs ask for them."""
    folder = unpack.unpack(SUITE, list(PACKAGES))
    libraries = folder / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    # Such names have one number, libvulkan.so.1; the files behind them have more.
    found = {
        path.name: path.resolve() for path in libraries.glob("lib*.so.[0-9]*") if path.name.split(".so.")[1].isdigit()
    }
    return {name: path for name, path in found.items() if path.is_file()}


def files(folder: Path) -> Dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}


def below(prefix: str, members: Dict[str, Path]) -> Dict[str, Path]:
    return {f"{prefix}/{name}": path for name, path in members.items()}


def tracked() -> int:
    """Bytes of the repository's files."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    return sum((ROOT / name).stat().st_size for name in names if (ROOT / name).is_file())


def archives(folder: Path, binaries: Dict[str, Path], staged: Path, golden: Path) -> List[parts.Part]:
    """Writes the archives of what is built and downloaded. What cannot be had here is left out, with the reason."""
    holds, package = "the command (release), tests, bits and the probe of external memory", "the Python package, as installed"
    site: Dict[str, Path] = {}
    lacking = []
    try:
        site = below("site", wheel(staged / "site"))
        holds += f"; {package}"
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        lacking = [parts.missing("wheel", package, str(error))]
    # In one archive, as the package has the crates of the command inside: 23.2 MiB instead of 28.7 (2026-11-29).
    made = [parts.write(folder, "programs", holds, binaries | site, parts.PROGRAMS), *lacking]
    vectors = {f"vectors/tree/{top}/{name}": path for top in TREE for name, path in files(ROOT / top).items()}
    holds = "golden data that is not in the programs"
    if (golden / "public").is_dir():
        vectors.update(below("vectors/shared/public", files(golden / "public")))
        vectors.update({f"vectors/shared/transforms/{name}": golden / "transforms" / name for name in TRANSFORMS})
    else:
        holds += f", the repository's alone: there is no {golden / 'public'}"
    made.append(parts.write(folder, "vectors", holds, vectors, parts.DATA))
    holds = f"libraries of Debian {SUITE}, for what a system lacks"
    try:
        made.append(parts.write(folder, "loaders", holds, below("loaders", loaders()), parts.DATA))
    except (OSError, ValueError, LookupError) as error:
        made.append(parts.missing("loaders", holds, str(error)))
    return made


def main(given: List[str]) -> int:
    shared = ROOT.parent / "shared"
    parser = argparse.ArgumentParser(prog="scripts/hardware.sh pack")
    parser.add_argument("--folder", type=Path, default=ROOT / ".hw", help="the folder that is made anew (.hw)")
    parser.add_argument(
        "--photographs",
        type=Path,
        default=shared / "data" / "imagenet",
        help="class folders of JPEGs (../shared/data/imagenet)",
    )
    parser.add_argument(
        "--vectors",
        type=Path,
        default=shared / "golden",
        help="golden vectors beside the repository's (../shared/golden)",
    )
    asked = parser.parse_args(given)
    folder = asked.folder.resolve()
    if folder.exists() and not (folder / parts.MANIFEST).exists() and any(folder.iterdir()):
        print(f"{folder} is something else: it has no {parts.MANIFEST}", file=sys.stderr)
        return 2
    try:
        chosen = photographs(asked.photographs) if asked.photographs.is_dir() else None
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    # Made elsewhere: what was packed before stays until all of this is there.
    new, staged = TARGET / "hardware" / "packed", TARGET / "hardware" / "staged"
    for each in (new, staged):
        shutil.rmtree(each, ignore_errors=True)
    new.mkdir(parents=True)
    binaries = programs(staged / "programs")
    made = archives(new, below("programs", binaries), staged, asked.vectors)
    holds = f"{PHOTOGRAPHS} JPEGs"
    if chosen:
        made.append(parts.write(new, "photographs", holds, below("photographs", chosen)))
    else:
        reason = f"there is no {asked.photographs}; --photographs FOLDER names one"
        made.append(parts.missing("photographs", holds, reason))
    shutil.copy(HERE.parent / "hardware.sh", new / "hardware.sh")
    (new / "hardware").mkdir()
    for script in sorted(HERE.glob("*.py")):
        if script.name not in STAYS and not script.name.startswith("test_"):
            shutil.copy(script, new / "hardware" / script.name)
    commit = run(["git", "rev-parse", "--short", "HEAD"]).strip()
    facts = {
        "version": run([str(binaries["gpufeed"]), "--version"]).split()[-1],
        "commit": commit + ("+changes" if run(["git", "status", "--porcelain"]).strip() else ""),
        "packed": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "glibc": max((parts.glibc(path) for path in binaries.values()), key=parts.version),
    }
    parts.save(new, facts, made)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(new, folder)
    libc = f"glibc {facts['glibc']} or later" if facts["glibc"] else "any C library"
    print(f"\ngpufeed {facts['version']}, commit {facts['commit']}, {facts['machine']}, {libc}\n")
    print(parts.table(made, folder))
    size = parts.total(folder)
    if size > parts.LIMIT:
        print(f"{size / (1 << 20):.1f} MiB; {parts.LIMIT >> 20} are the most", file=sys.stderr)
        return 1
    together = size + tracked()
    if together > LENT:
        mib = f"{together / (1 << 20):.1f} MiB"
        print(f"with the repository's files {mib}: more than the {LENT >> 20} that travel to a lent machine")
    return 0

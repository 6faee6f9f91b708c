"""Checks what the steps of GitHub's workflows name: files, scripts, actions, Rust targets, versions, packages.

    python3 scripts/workflows.py     prints what is wrong, and fails; needs PyYAML, which scripts/test-workflows.sh
                                     installs before it runs this script

The steps are not run, because they install packages of the system. In each `run:`, bash checks the syntax; a file of
the repository that the step names has to exist; a script that the step starts has to be executable, and its syntax
right. For each platform of a matrix, pip looks up the requirements.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
# The beginnings of paths that no commit has, because cargo or a step of a workflow makes the files.
MADE = ("target/",)
ENDS = (".sh", ".py", ".mjs", ".js", ".toml", ".json", ".txt", ".yml", ".yaml", ".md")
# The platform tags of the wheels that pip accepts on each Rust target.
LINUX = [f"manylinux_2_{minor}" for minor in range(5, 40)] + ["manylinux1", "manylinux2010", "manylinux2014"]
PLATFORMS = {
    "x86_64-unknown-linux-gnu": [f"{name}_x86_64" for name in LINUX],
    "aarch64-unknown-linux-gnu": [f"{name}_aarch64" for name in LINUX],
    "aarch64-apple-darwin": [f"macosx_{major}_0_{chip}" for major in range(11, 16) for chip in ("arm64", "universal2")],
    "x86_64-pc-windows-msvc": ["win_amd64"],
}


def shell(script: str | Path) -> str:
    """Returns what bash says of the syntax of a script; an empty text if the syntax is right."""
    given = ["bash", "-n", script] if isinstance(script, Path) else ["bash", "-n", "-c", script]
    return subprocess.run(given, capture_output=True, text=True).stderr.strip()


def rows(job: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the combinations of a job's matrix, each as a dictionary; without a matrix, one empty dictionary."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    listed = matrix.pop("include", [])
    combined = [dict(zip(matrix, values)) for values in product(*matrix.values())] if matrix else []
    return combined + listed or [{}]


def filled(text: str, row: dict[str, str]) -> str:
    return re.sub(r"\$\{\{\s*matrix\.(\w+)\s*\}\}", lambda found: str(row.get(found[1], "")), text)


def commands(script: str) -> Iterator[list[str]]:
    """Yields the words of each simple command of a script, as far as one can tell without running a shell."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";&|()"):
                if words:
                    yield words
                words = []
            else:
                words.append(word)


def is_ours(word: str) -> bool:
    """Returns whether a word is a path in the repository: it has a slash, and begins with a folder that exists or ends
    as the repository's files do."""
    path = word.removeprefix("./")
    if path.startswith(("-", "/", "~", "$", *MADE)) or "://" in path or "$" in path:
        return False
    return "/" in path and (path.startswith("../") or (ROOT / path.split("/")[0]).exists() or path.endswith(ENDS))


def of_script(script: str, folder: Path) -> Iterator[str]:
    """Yields what is wrong in the script of a step, which runs in `folder`."""
    if said := shell(script):
        yield f"bash: {said}"
        return
    for words in commands(script):
        if words[0] == "cd":
            folder = folder / words[1]
            continue
        for at, word in enumerate(words):
            if not is_ours(word):
                continue
            found = sorted(folder.glob(word)) if "*" in word else [folder / word]
            if not found or not found[0].exists():
                yield f"{word}: there is no such file in {folder.relative_to(ROOT)}/"
            elif at == 0 and not os.access(found[0], os.X_OK):
                yield f"{word} is started, and not executable: chmod +x"
            elif found[0].is_file() and found[0].read_bytes().startswith(b"#!/usr/bin/env bash") and (said := shell(found[0])):
                yield f"{word}: {said}"


def of_step(step: dict[str, Any], row: dict[str, str]) -> Iterator[str]:
    if action := step.get("uses"):
        if not re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+", action):
            yield f"{action}: actions are pinned by their major version, as in actions/checkout@v5"
    folder = ROOT / filled(step.get("working-directory", "."), row)
    if not folder.is_dir():
        yield f"working-directory: there is no {folder}"
    yield from of_script(filled(step.get("run", ""), row), folder)
    for name, value in step.get("with", {}).items():
        for word in filled(str(value), row).split():
            if name.endswith("path") and is_ours(word) and not any(ROOT.glob(word)):
                yield f"{name}: there is no {word}"


def of_workflow(workflow: dict[Any, Any]) -> Iterator[str]:
    # YAML 1.1 reads the key `on` as the value True.
    push = workflow.get(True, {}).get("push", {})
    for pattern in push.get("paths", []):
        if not any(ROOT.glob(pattern)):
            yield f"on: push: paths: nothing is {pattern}"
    known = subprocess.run(["rustc", "--print", "target-list"], check=True, capture_output=True, text=True).stdout.split()
    for name, job in workflow["jobs"].items():
        for row in rows(job):
            if (target := row.get("target")) and target not in known:
                yield f"{name}: rustc knows no target {target}"
            for step in job["steps"]:
                for problem in of_step(step, row):
                    yield f"{name}: step \"{step.get('name', step.get('uses', 'without a name'))}\": {problem}"


def requirements(job: dict[str, Any]) -> tuple[list[str], set[str]]:
    """Returns the requirements files that a job installs, and the Python versions that it sets up."""
    words = [word for step in job["steps"] for word in step.get("run", "").split()]
    files = {word for word in words if re.fullmatch(r"\S+/requirements-[\w.-]+\.txt", word)}
    if "scripts/wheels.sh" in words:
        files.add("python/requirements-build.txt")
    versions = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    return sorted(files), {version for text in versions for version in str(text).split()}


def of_packages(job: dict[str, Any]) -> Iterator[str]:
    """Yields the requirements that pip does not find for a job's platforms. pip downloads only metadata of packages."""
    files, versions = requirements(job)
    for row in rows(job) if files else []:
        for version in versions:
            if "t" in version:
                continue  # a free-threaded Python (3.14t) installs only the wheel of gpufeed
            with tempfile.TemporaryDirectory() as folder:
                pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--only-binary=:all:", f"--target={folder}"]
                pip += [f"--python-version={version}", *(f"--platform={name}" for name in PLATFORMS[row["target"]])]
                said = subprocess.run([*pip, *(f"--requirement={file}" for file in files)], cwd=ROOT, capture_output=True, text=True)
            if said.returncode:
                yield f"{row['target']}, Python {version}: {said.stderr.strip()}"
            else:
                print(f"{row['target']}, Python {version}: PyPI has what {' and '.join(files)} want")


def of_versions(texts: dict[str, str], workflows: dict[str, dict[Any, Any]]) -> Iterator[str]:
    """Yields the files that name another oldest Python than pyproject.toml, another oldest Rust than Cargo.toml, or
    another free-threaded Python than scripts/wheels.sh.
    """
    python = re.search(r'requires-python = ">=(3\.\d+)"', texts["python/pyproject.toml"])[1]
    rust = re.search(r'^rust-version = "([\d.]+)"', texts["Cargo.toml"], re.MULTILINE)[1]
    said = {file: re.findall(r"Python\*{0,2} (3\.\d+) (?:and|or) later", text) for file, text in texts.items() if file.endswith(".md")}
    said["python/Cargo.toml"] = [f"3.{minor}" for minor in re.findall(r'"abi3-py3(\d+)"', texts["python/Cargo.toml"])]
    for file, versions in said.items():
        if set(versions) - {python} or not versions and file in ("README.md", "python/README.md", "python/Cargo.toml"):
            yield f"{file}: the oldest Python is {versions or 'not named'}, that of python/pyproject.toml {python}"
    rusts = {"python/Cargo.toml": re.findall(r'^rust-version = "([\d.]+)"', texts["python/Cargo.toml"], re.MULTILINE)}
    rusts |= {file: re.findall(r"cargo \+([\d.]+)|toolchain install ([\d.]+)", text) for file, text in texts.items() if file.endswith(".yml")}
    for file, found in rusts.items():
        for version in found:
            if "".join(version) != rust:
                yield f"{file}: Rust {''.join(version)}, and the oldest Rust of Cargo.toml is {rust}"
    threads = re.search(r"--interpreter python(3\.\d+t)", texts["scripts/wheels.sh"])[1]
    for file, workflow in workflows.items():
        for job in workflow["jobs"].values():
            for version in requirements(job)[1]:
                if version.endswith("t") and version != threads:
                    yield f"{file}: Python {version}, and scripts/wheels.sh builds a wheel for {threads}"
                if int(version.rstrip("t").split(".")[1]) < int(python.split(".")[1]):
                    yield f"{file}: Python {version} is older than {python}, the oldest of python/pyproject.toml"


def main() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    workflows = {file.name: yaml.safe_load(file.read_text()) for file in files}
    names = ("Cargo.toml", "python/Cargo.toml", "python/pyproject.toml", "scripts/wheels.sh", "README.md", "python/README.md")
    named = [ROOT / name for name in names]
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in [*named, *files, *(ROOT / "docs").rglob("*.md")]}
    problems = list(of_versions(texts, workflows))
    for name, workflow in workflows.items():
        problems += (f"{name}: {problem}" for problem in of_workflow(workflow))
        for job in workflow["jobs"].values():
            problems += (f"{name}: {problem}" for problem in of_packages(job))
    for problem in dict.fromkeys(problems):
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    steps = sum(len(job["steps"]) for workflow in workflows.values() for job in workflow["jobs"].values())
    print(f"{len(files)} workflows with {steps} steps: what they name is there")


main()

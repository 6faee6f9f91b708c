"""Tests what python/build_backend.py prints if a compiler is missing or too old. Stubs take the place of the compilers,
of maturin and of puccinialin, the package that downloads Rust.

python3 scripts/test_build_backend.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BACKEND = ROOT / "python" / "build_backend.py"
# The source of a stub of puccinialin. It writes a cargo and a rustc that report `version`, or fails if `version` is
# empty.
PUCCINIALIN = """
import os, pathlib
def setup_rust():
    if not {version!r}:
        raise ConnectionError("no way to the server")
    for program in ("cargo", "rustc"):
        path = pathlib.Path({folder!r}, program)
        path.write_text("#!/bin/sh\\necho " + program + " {version}\\n")
        path.chmod(0o755)
    return {{"PATH": {folder!r}}}
"""


@unittest.skipIf(sys.platform == "win32", "the stubs are scripts of a POSIX shell")
class Backend(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tools, self.modules, fetched = (self.folder / name for name in ("tools", "modules", "fetched"))
        for folder in (self.tools, self.modules, fetched):
            folder.mkdir()
        self.fetched = str(fetched)
        names = re.search(r"from maturin import \((.*?)\)", BACKEND.read_text(), re.DOTALL)[1].split(",")
        (self.modules / "maturin.py").write_text("".join(f"{name.strip()} = None\n" for name in names if name.strip()))

    def tool(self, name: str, says: str = "") -> None:
        (self.tools / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (self.tools / name).chmod(0o755)

    def rust(self, cargo: str, rustc: str) -> None:
        self.tool("cargo", f"cargo {cargo} (some 2026-01-01)")
        self.tool("rustc", f"rustc {rustc} (some 2026-01-01)")

    def puccinialin(self, version: str) -> None:
        (self.modules / "puccinialin.py").write_text(PUCCINIALIN.format(version=version, folder=self.fetched))

    def said(self, **variables: str) -> str:
        """Returns what the backend prints when it is imported, as pip does; empty if it goes on to maturin."""
        done = subprocess.run(
            [sys.executable, "-c", "import build_backend; build_backend.build_wheel"],
            cwd=ROOT / "python",
            env={"PATH": str(self.tools), "PYTHONPATH": f"{self.modules}:{BACKEND.parent}", "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True,
            text=True,
        )
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1 if text else 0, text)
        self.assertLessEqual(text.count("\n"), 1, "one sentence, no stack of calls")
        return text

    def test_what_suffices_says_nothing(self) -> None:
        self.tool("cc")
        for version in ("1.89.0", "1.95.0", "1.100.2", "2.0.0"):
            self.rust(version, version)
            self.assertEqual(self.said(), "", version)

    def test_old_rust_is_named_with_the_version_that_is_needed(self) -> None:
        self.tool("cc")
        pairs = [("1.75.0", "1.95.0", "cargo is 1.75"), ("1.95.0", "1.88.0-nightly", "rustc is 1.88"), ("1.9.0", "1.9.0", "cargo is 1.9")]
        for cargo, rustc, culprit in pairs:
            self.rust(cargo, rustc)
            self.assertRegex(self.said(), f"Rust 1.89 or later, and {self.tools}/{culprit}: .*rustup")

    def test_rust_that_does_not_work_is_said(self) -> None:
        self.tool("cc")
        self.tool("cargo", "cargo 1.95.0")
        self.assertRegex(self.said(), "`rustc --version` does not work .it is not on PATH")
        (self.tools / "rustc").write_text("#!/bin/sh\necho 'no default toolchain:' >&2\necho 'run rustup default' >&2\nexit 1\n")
        (self.tools / "rustc").chmod(0o755)
        self.assertRegex(self.said(), "does not work .no default toolchain: run rustup default")

    def test_a_c_compiler_is_asked_for(self) -> None:
        self.rust("1.95.0", "1.95.0")
        self.assertRegex(self.said(), "C compiler, and there is no `cc`.*apt install")
        self.assertRegex(self.said(CC="clang-19"), "no `cc`", "rustc does not ask CC")
        self.assertEqual(self.said(CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER="clang-19"), "")

    def test_rust_is_fetched_where_there_is_none(self) -> None:
        self.tool("cc")
        self.assertEqual(self.said(), "", "pip has not installed puccinialin yet")
        self.puccinialin("")
        self.assertRegex(self.said(), r"cannot be fetched \(no way to the server\): install it from https://rustup.rs")
        self.assertEqual(self.said(MATURIN_NO_INSTALL_RUST="1"), "", "maturin itself says it")
        self.puccinialin("1.95.0")
        self.assertEqual(self.said(), "")
        self.puccinialin("1.80.0")
        self.assertRegex(self.said(), "cargo is 1.80")


if __name__ == "__main__":
    unittest.main()

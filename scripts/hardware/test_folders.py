"""The packed folder and the folder of results of `hardware.sh`, with stubs in the place of programs."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pack  # noqa: E402
import parts  # noqa: E402
import results  # noqa: E402
from stubs import STUBS, UUID, stub  # noqa: E402


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_a_part_comes_out_as_it_went_in(self) -> None:
        source = self.folder / "program"
        source.write_bytes(b"\x7fELF" + bytes(range(256)) * 900 + b"GLIBC_2.9\0GLIBC_2.34\0")
        source.chmod(0o755)
        for name, filters in (("x", parts.PROGRAMS), ("d", parts.DATA), ("s", None)):
            part = parts.write(self.folder, name, "things", {"deep/program": source}, filters)
            self.assertEqual((part.files, part.bytes), (1, source.stat().st_size))
            out = self.folder / f"out-{name}"
            parts.unpack(self.folder, part, out)
            self.assertEqual((out / "deep/program").read_bytes(), source.read_bytes())
            self.assertTrue(os.access(out / "deep/program", os.X_OK))
        self.assertEqual(parts.glibc(source), "2.34")
        archive = self.folder / "s.tar"
        archive.write_bytes(archive.read_bytes().replace(b"\x7fELF", b"\x7fELG"))
        with self.assertRaisesRegex(ValueError, "damaged"):
            parts.unpack(self.folder, part, self.folder / "again")

    def test_a_member_outside_of_the_folder_is_refused(self) -> None:
        source = self.folder / "file"
        source.write_text("x")
        for name in ("../outside", "a/../../outside", "/tmp/outside-of-it"):
            part = parts.write(self.folder, "evil", "", {name: source}, None)
            with self.assertRaisesRegex(ValueError, "no file below"):
                parts.unpack(self.folder, part, self.folder / "in")

    def test_the_manifest_and_the_table(self) -> None:
        made = [
            parts.Part("a", "holds", 2, 3 << 20, 1 << 20, "00"),
            parts.missing("photographs", "JPEGs", "there is no folder"),
        ]
        parts.save(self.folder, {"version": "1"}, made)
        self.assertEqual(parts.load(self.folder), {"version": "1", "parts": made})
        table = parts.table(made, self.folder)
        self.assertIn("NOT THERE: there is no folder", table)
        self.assertIn("at most 60", table)
        with self.assertRaisesRegex(FileNotFoundError, "pack makes"):
            parts.load(self.folder / "nowhere")

    def test_results_are_few_small_and_without_names(self) -> None:
        self.assertLessEqual(len(results.MOST), 8)
        self.assertLess(sum(results.MOST.values()), 1_000_000)
        writer = results.Results(self.folder, {"/tmp/work": "WORK"})
        writer.write(
            "table.md",
            f"GPU-{UUID} at /tmp/work/x\n{UUID.replace('-', '').upper()} and {'0' * 32}\n"
            "0123456789abcdef 0123456789abcdef",
        )
        text = (self.folder / "table.md").read_text()
        self.assertEqual(text, "GPU-uuid-1 at WORK/x\nuuid-1 and uuid-2\n0123456789abcdef 0123456789abcdef")
        writer.write("bits.txt", "ä" * 100_000)
        text = (self.folder / "bits.txt").read_text()
        self.assertLessEqual(len(text.encode()), results.MOST["bits.txt"])
        self.assertIn("bytes and more are left out", text)
        with self.assertRaisesRegex(ValueError, "are the most"):
            writer.write_json("card.json", ["x" * 70_000])
        results.Results(self.folder, {})
        self.assertFalse((self.folder / "table.md").exists(), "an earlier run's results would be taken for this one's")

    def test_what_is_packed(self) -> None:
        messages = '{"reason":"compiler-artifact","target":{"name":"bits"},"executable":"/x/bits"}\n'
        messages += '{"target":{"name":"lib"},"executable":null}\nwarning\n'
        self.assertEqual(pack.executables(messages), {"bits": Path("/x/bits")})
        for number in range(100):
            path = self.folder / f"class{number % 4}" / f"{number}.JPEG"
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        chosen = pack.photographs(self.folder)
        self.assertEqual(len(chosen), pack.PHOTOGRAPHS)
        self.assertEqual({Path(name).parts[0] for name in chosen}, {"class0", "class1", "class2", "class3"})
        with self.assertRaisesRegex(FileNotFoundError, "has 0 JPEGs"):
            pack.photographs(self.folder / "class0")


class Packs(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for number in range(70):
            path = self.folder / "photographs" / "class" / f"{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(number))
        (self.folder / "programs").mkdir()
        # The stubs name a C library, as programs do.
        self.programs = {name: self.folder / "programs" / name for name in STUBS}
        for name, path in self.programs.items():
            body = 'print("gpufeed 0.3.0")\nsys.exit()\n' if name == "gpufeed" else ""
            stub(path, body + "'GLIBC_2.2.5 GLIBC_2.17'")

    def pack(self, *more: str, **other: object) -> int:
        self.hw = self.folder / "hw"
        stubs = {
            "programs": lambda _: self.programs,
            "wheel": lambda _: {"gpufeed/__init__.py": self.folder / "photographs/class/1.jpg"},
        }
        stubs["loaders"] = mock.Mock(side_effect=OSError("no network"))
        stubs.update(other)
        given = [
            "--folder",
            str(self.hw),
            "--photographs",
            str(self.folder / "photographs"),
            "--vectors",
            str(self.folder / "nowhere"),
            *more,
        ]
        with (
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.redirect_stderr(said),
            mock.patch.multiple(pack, **stubs),
        ):
            with mock.patch.object(pack, "TARGET", self.folder / "target"):
                status = pack.main(given)
        self.said = said.getvalue()
        return status

    def test_the_packed_folder_runs_by_itself(self) -> None:
        self.assertEqual(self.pack(), 0, self.said)
        facts = parts.load(self.hw)
        self.assertEqual((facts["version"], facts["glibc"], facts["machine"]), ("0.3.0", "2.17", os.uname().machine))
        self.assertEqual({part.name: part.files for part in facts["parts"]}["photographs"], pack.PHOTOGRAPHS)
        self.assertIn("NOT THERE: no network", self.said)
        self.assertIn("the repository's alone", self.said)
        # In an empty place, and by no variable of this process.
        command = [
            str(self.hw / "hardware.sh"),
            "run",
            "--short",
            "--python",
            "/bin/false",
            str(self.folder / "results"),
        ]
        environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(self.folder)}
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        # The stub of the command is no doctor.
        self.assertIn("| doctor |", done.stdout)
        self.assertIn("| no adapter |", done.stdout)
        self.assertIn("| goldens |", (self.folder / "results" / "table.md").read_text())
        refused = subprocess.run(
            [str(self.hw / "hardware.sh"), "pack"], env=environment, capture_output=True, text=True
        )
        self.assertEqual(refused.returncode, 2)
        self.assertIn("in a clone of the repository", refused.stderr)

    def test_a_pack_that_fails_leaves_what_was_packed_before(self) -> None:
        self.programs = {}
        for _ in range(2):
            with self.assertRaises(KeyError):
                self.pack()
            self.assertFalse(self.hw.exists())
        self.setUp()
        self.assertEqual(self.pack(), 0, self.said)
        before = (self.hw / parts.MANIFEST).read_text()
        self.programs = {}
        with self.assertRaises(KeyError):
            self.pack()
        self.assertEqual((self.hw / parts.MANIFEST).read_text(), before)

    def test_without_a_wheel_and_with_too_few_photographs(self) -> None:
        error = subprocess.CalledProcessError(1, ["scripts/wheels.sh"])
        self.assertEqual(self.pack(wheel=mock.Mock(side_effect=error)), 0, self.said)
        self.assertIn("NOT THERE: Command '['scripts/wheels.sh']' returned", self.said)
        self.assertEqual(self.pack("--photographs", str(self.folder / "programs"), wheel=None), 2)
        self.assertIn("has 0 JPEGs", self.said)

    def test_too_large_a_folder_fails_and_a_foreign_one_stays(self) -> None:
        with mock.patch.object(parts, "LIMIT", 1000):
            self.assertEqual(self.pack(), 1)
        self.assertIn("are the most", self.said)
        self.assertEqual(self.pack(), 0, "what was packed before is replaced")
        with mock.patch.object(pack, "LENT", 1000):
            self.pack()
        self.assertIn("that travel to a lent machine", self.said)
        (self.hw / parts.MANIFEST).unlink()
        self.assertEqual(self.pack(), 2)
        self.assertIn("something else", self.said)
        self.assertTrue((self.hw / "hardware.sh").exists())


if __name__ == "__main__":
    unittest.main()

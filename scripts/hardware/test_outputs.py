"""What programs print, and what machines have, as `hardware.sh` reads it."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cards  # noqa: E402
import machine  # noqa: E402
import outputs  # noqa: E402
from stubs import CARD, LIBTEST  # noqa: E402


class Outputs(unittest.TestCase):
    def test_results_of_tests(self) -> None:
        listed = ["golden::the_cpu_matches_torchvision", "golden::every_gpu_matches_torchvision", "sequences::late"]
        found = outputs.tests(LIBTEST, listed)
        self.assertEqual(found["passed"], ["golden::the_cpu_matches_torchvision"])
        self.assertEqual(found["failed"], ["golden::every_gpu_matches_torchvision"])
        self.assertEqual(found["unfinished"], ["sequences::late"])
        # Another test has printed between the name and the result; the summary counts.
        ended = "test a::b ... a title\nok\ntest a::c ... FAILED\n\nfailures:\n\nfailures:\n    a::c\n    a::d\n\n"
        ended += "test result: FAILED. 1 passed; 2 failed; 0 ignored\n"
        found = outputs.tests(ended, ["a::b", "a::c", "a::d"])
        self.assertEqual((found["passed"], found["failed"], found["unfinished"]), (["a::b"], ["a::c", "a::d"], []))
        self.assertEqual(outputs.listed("a::b: test\nc: benchmark\n\n1 test, 1 benchmark\n"), ["a::b"])

    def test_panics_and_distances(self) -> None:
        (first, message), (second, other) = outputs.panics(LIBTEST)
        self.assertEqual((first, second), ("golden::every_gpu_matches_torchvision", "sequences::sequences_equal"))
        self.assertTrue(message.startswith("torchvision against") and message.endswith("1.00e-5"), message)
        self.assertEqual(other, "value 3 of it")
        hue, nan = outputs.distances(LIBTEST)
        self.assertEqual(
            (hue["case"], hue["value"], hue["distance"], hue["allowed"]), ("point/hue 1", 307, 8.57e-3, 1e-4)
        )
        self.assertEqual((nan["case"], nan["value"]), ("resize/a, b", 5))
        self.assertEqual((nan["is"], nan["distance"]), ("NaN", None), "JSON has no such number")
        (bytes_,) = outputs.distances("  Posterize Uint8: value 7 is 12, not 14\n")
        self.assertEqual((bytes_["distance"], bytes_["allowed"]), (2.0, None))

    def test_distances_of_comparisons_that_name_the_case_last(self) -> None:
        text = "a card, floats: 2 of 900 images:\n"
        text += '  value 307 is -2.035, not -2.044 in -2.05 to -2.04: Float, [{"type":"Equalize"}] on 9x9x3: []\n'
        text += "  3 values, value 7 is 127, not 128: [Posterize { bits: 3 }] on 5x5x3: " + 200 * "x" + "\n"
        text += "  resize/u8: 5 values are one level off, 2 may be\n"
        sequence, bytes_, levels = outputs.distances(text)
        self.assertTrue(sequence["case"].startswith("Float, ["), sequence)
        self.assertEqual((sequence["value"], sequence["is"], sequence["not"]), (307, -2.035, -2.044))
        self.assertAlmostEqual(sequence["distance"], 0.009)
        self.assertAlmostEqual(sequence["allowed"], 0.006)
        self.assertEqual((bytes_["value"], bytes_["distance"], bytes_["allowed"]), (7, 1.0, None))
        self.assertLess(len(bytes_["case"]), 200)
        self.assertEqual(
            (levels["case"], levels["is"], levels["distance"]), ("resize/u8", "5 values one level off", 1.0)
        )

    def test_bits(self) -> None:
        text = (
            "CPU, deit, cache off, views 1: aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\n"
            "X (Vulkan), shaders, deit, cache off, views 1: aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\n"
            "X (Vulkan), shaders, deit, cache device, views 1: aaaaaaaaaaaaaaaa cccccccccccccccc\n"
            "X (Vulkan), shaders, deit, cache device in bytes, views 1: 0000000000000001 0000000000000002\n"
            "X (Vulkan), shaders, augmix, cache off, views 2: it has no shaders\n"
            "X (Vulkan), shaders, simclr, cache off, views 1: GPU: it is out of memory\n"
            "Y: it gives no device\n"
        )
        found = outputs.bits(text)
        self.assertEqual(len(found), 4)
        # Two runs that fail alike have no bits that are equal.
        self.assertEqual(
            outputs.errors_of_bits(text),
            ["X (Vulkan), shaders, simclr, cache off, views 1: GPU: it is out of memory", "Y: it gives no device"],
        )
        self.assertEqual(outputs.cache_differs(found), (1, ["X (Vulkan), shaders, deit, cache device, views 1"]))
        places = outputs.by_place(found)
        self.assertEqual(set(places), {"CPU", "X (Vulkan), shaders"})
        self.assertEqual(outputs.differing(places["X (Vulkan), shaders"], places["CPU"]), (1, []))
        self.assertEqual(
            outputs.differing(found, dict(found, **{"CPU, deit, cache off, views 1": "other"}))[1],
            ["CPU, deit, cache off, views 1"],
        )

    def test_the_probe(self) -> None:
        text = (
            "adapter 0: X\n  uuid=00 memory=DEDICATED\n"
            "result: adapter=0 consumer=cuda order=host hand-overs=20 wrong=3 milliseconds=12.30\n"
            "failed: adapter=0 consumer=cuda order=binary: cuImportExternalSemaphore returns 801\n"
            "not possible: adapter=1 consumer=cuda order=timeline: the driver exports no such semaphore\n"
        )
        host, binary, timeline = outputs.handed_over(text)
        self.assertEqual(
            (host["wrong"], host["hand_overs"], host["milliseconds"], host["kind"]), (3, 20, 12.3, "result")
        )
        self.assertEqual((binary["kind"], binary["reason"]), ("failed", "cuImportExternalSemaphore returns 801"))
        self.assertEqual((timeline["adapter"], timeline["kind"]), (1, "not possible"))

    def test_switches_and_last_lines(self) -> None:
        text = (
            "Options:\n      --switch <NAME=VALUE>\n          Sets a choice, NAME=VALUE: by hand\n\n"
            "          rows=4|8: rows\n          \n          staging=in-place|host: where\n  -h, --help  Print help\n"
        )
        self.assertEqual(outputs.switches(text), {"rows": ["4", "8"], "staging": ["in-place", "host"]})
        self.assertEqual(outputs.result('RESULT {"a": 1}\nRESULT {"a": 2}\nmore'), {"a": 2})
        self.assertIsNone(outputs.result("nothing"))
        self.assertEqual(outputs.last_words("", "a\nb\nc\n"), "b / c")


class Drivers(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def drivers(self, names: List[str], nvidia: bool, loads: bool = False, elsewhere: str = "nowhere"):
        with mock.patch.object(machine, "loads", lambda library, folders=(): loads):
            return machine.drivers(
                self.folder, [Path("/icd") / name for name in names], nvidia, self.folder / elsewhere
            )

    def test_hardware_is_seen_alone(self) -> None:
        files, _, how = self.drivers(["lvp_icd.x86_64.json", "radeon_icd.x86_64.json"], nvidia=False)
        self.assertEqual([path.name for path in files], ["radeon_icd.x86_64.json"])
        self.assertIn("software drivers are left out", how)
        files, _, how = self.drivers(["lvp_icd.x86_64.json"], nvidia=False)
        self.assertEqual((files, how), ([], "lvp_icd.x86_64.json"))
        self.assertEqual(self.drivers([], nvidia=False)[2], "none is installed")
        self.assertEqual([path.name for path in self.drivers(["nvidia_icd.json"], nvidia=True)[0]], ["nvidia_icd.json"])

    def test_nvidias_driver_without_a_manifest(self) -> None:
        files, folder, how = self.drivers([], nvidia=True)
        self.assertEqual((files, folder), ([], None))
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=all", how)
        files, _, how = self.drivers(["lvp_icd.json"], nvidia=True, loads=True)
        own = json.loads(files[0].read_text())
        self.assertEqual((own["ICD"]["library_path"], len(files)), ("libGLX_nvidia.so.0", 1))
        self.assertIn("a manifest made here", how)
        place = self.folder / "nv/share/vulkan/icd.d"
        place.mkdir(parents=True)
        (place / "nvidia_icd.json").write_text("{}")
        (self.folder / "nv/lib64").mkdir()
        files, folder, how = self.drivers([], nvidia=True, elsewhere="nv")
        self.assertEqual((files, folder), ([place / "nvidia_icd.json"], self.folder / "nv/lib64"))
        files, folder, how = self.drivers(["nvidia_icd.json"], nvidia=True, elsewhere="nv")
        self.assertEqual((files, folder), ([Path("/icd/nvidia_icd.json")], self.folder / "nv/lib64"))

    def test_nvidias_driver_with_libraries_that_were_carried(self) -> None:
        (self.folder / "nv/lib64").mkdir(parents=True)
        # NVIDIA's library asks for one that the system has not.
        tried = []

        def loads(library: str, folders=()) -> bool:
            tried.append((library, list(folders)))
            return Path("gaps") in folders

        with mock.patch.object(machine, "loads", loads):
            files, folder, _ = machine.drivers(self.folder, [], True, self.folder / "nv", [Path("gaps")])
        self.assertEqual([path.name for path in files], ["nvidia_icd.json"])
        self.assertEqual(folder, self.folder / "nv/lib64")
        self.assertEqual(tried[-1], (str(folder / "libGLX_nvidia.so.0"), [Path("gaps"), folder]))

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_library_that_needs_another(self) -> None:
        needed, library = self.folder / "apart/libneeded.so", self.folder / "libneeds.so"
        needed.parent.mkdir()
        compile_to = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o"]
        command = [*compile_to, str(needed), f"-Wl,-soname,{needed.name}"]
        subprocess.run(command, input="int f(void) { return 1; }", text=True, check=True)
        source = "int f(void); int g(void) { return f(); }"
        subprocess.run([*compile_to, str(library), str(needed)], input=source, text=True, check=True)
        self.assertFalse(machine.loads(str(library)))
        self.assertFalse(machine.loads(str(library), [self.folder]))
        self.assertTrue(machine.loads(str(library), [needed.parent]))

    def test_the_window_of_a_card(self) -> None:
        text = (
            "GPU 0\n    FB Memory Usage\n        Total                             : 81559 MiB\n        Used : 1 MiB\n"
            "    BAR1 Memory Usage\n        Total                             : 131072 MiB\n"
        )
        self.assertEqual(machine.nvidia_windows(text), ["NVIDIA 0: 81559 MiB, 131072 of it in the processor's window"])
        self.assertEqual(machine.nvidia_windows("no devices were found"), [])
        self.assertGreaterEqual(machine.facts()["cores"], 1)


class Sources(unittest.TestCase):
    def test_what_travels_is_python_3_9(self) -> None:
        for path in sorted(HERE.glob("*.py")):
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))

    def test_cards_in_words(self) -> None:
        self.assertIn("roofline 2,000,000 (memory)", cards.words(CARD))
        bare = {**CARD, "kernels": {"clock": "no GPU", "rows": [], "roofline": None}}
        self.assertIn("no kernels (no GPU)", cards.words(bare))


if __name__ == "__main__":
    unittest.main()

"""Tests of `scripts/hardware.sh` on made-up results: nothing is built, and no GPU is needed.

    python3 scripts/hardware/test_hardware.py     takes seconds; needs Python 3.9
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Dict, List
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cards  # noqa: E402
import machine  # noqa: E402
import outputs  # noqa: E402
import pack  # noqa: E402
import parts  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
import steps  # noqa: E402

UUID = "7e5cd6a0-1b2c-4d3e-8f90-a1b2c3d4e5f6"
LIBTEST = f"""
running 3 tests
golden::every_gpu title:
test golden::the_cpu_matches_torchvision ... ok
test golden::every_gpu_matches_torchvision ... FAILED

thread 'golden::every_gpu_matches_torchvision' (123) panicked at crates/testing/src/compare.rs:80:9:
torchvision against a card GPU-{UUID}: 2 failures:
  point/hue 1: value 307 is -2.0357141, not -2.044287: 8.57e-3 > 1.00e-4
  resize/a, b: value 5 is NaN, not 1: NaN > 1.00e-5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

thread 'sequences::sequences_equal' (124) panicked at tests/pixels/sequences.rs:9:9:
value 3 of it
"""
CARD = {
    "schema": 2, "version": "0.3.0", "adapter": "a card", "executor": "shaders", "workers": 4,
    "images_per_second": {"median": 2000.0}, "cpu_seconds_per_image": 5e-4,
    "bottleneck": {"resource": "cpu", "verdict": "4 workers busy 100 %"},
    "kernels": {
        "clock": "timestamps",
        "rows": [
            {"name": "copy kernel", "images": 0, "bytes": 10**7, "seconds": 1e-5, "gb_per_second": 1000.0, "of_copy": 1.0, "runs": [1.0] * 50},
            {"name": "strip, f32", "images": 16, "bytes": 10**7, "seconds": 2e-5, "gb_per_second": 500.0, "of_copy": 0.5, "predicted_seconds": None},
        ],
        "roofline": {"gb_per_second": 1000.0, "gflop_per_second": 9000.0, "limit": "memory", "predicted_images_per_second": 2e6,
                     "measured_images_per_second": 1e6},
    },
    "upload": [{"name": "ring and copy", "images": 4, "bytes": 10**6, "seconds": 1e-4, "gb_per_second": 10.0, "of_copy": None}],
    "sweep": [{"workers": 1, "images_per_second": {"median": 600.0}}, {"workers": 4, "images_per_second": {"median": 2000.0}}],
}
# What stands in the place of each program: Python, so that no shell is asked.
STUBS = {
    "gpufeed": """
        if words[0] == "doctor":
            adapter = dict(number=0, name="a card", device_type="DiscreteGpu", backend="vulkan", driver="a driver", opens=True, taken=True,
                           upload="ring and copy", error=None)
            other = dict(adapter, number=1, name="another", taken=False)
            print(json.dumps(dict(adapters=[other, adapter], path=dict(why="the first"), problems=[])))
        elif "--help" in words:
            print("Options:\\n      --staging <S>\\n          Where [possible values: card,\\n          host]\\n\\n      --quick\\n          Less")
        else:
            with open(words[words.index("--report-card") + 1], "w") as file:
                file.write(CARD)
    """,
    "pixels": """
        names = ["golden::every_gpu_matches_torchvision", "golden::the_cpu_matches_torchvision", "sequences::late"]
        print("\\n".join(name + ": test" for name in names) if "--list" in words else LIBTEST)
        sys.exit(0 if "--list" in words else 101)
    """,
    "bits": """
        place = "a card (Vulkan), shaders"
        for kept in ("cache off", "cache device"):
            print(f"{place}, deit, {kept}, views 1: 0123456789abcdef 0123456789abcdef")
        if "shaders" not in words:
            print("CPU, deit, cache off, views 1: 0123456789abcdef 0123456789abcdee")
    """,
    "pipeline": 'print("a::b: test" if "--list" in words else "test a::b ... ok")',
    "cache": 'print("c::d: test" if "--list" in words else "test c::d ... ok")',
    "faults": 'print("gpu::e: test" if "--list" in words else "test gpu::e ... ok")',
    "external_memory": """
        print("adapter 0: a card")
        print("result: adapter=0 consumer=vulkan order=host hand-overs=50 wrong=0 milliseconds=1.50")
        print("not possible: adapter=0 consumer=vulkan order=timeline: the driver exports no such semaphore")
    """,
}


def stub(path: Path, body: str) -> None:
    import textwrap

    head = f"#!{sys.executable}\nimport json, os, sys, time\nwords = sys.argv[1:]\nCARD = {json.dumps(CARD)!r}\nLIBTEST = {LIBTEST!r}\n"
    path.write_text(head + textwrap.dedent(body).strip() + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Outputs(unittest.TestCase):
    def test_results_of_tests(self) -> None:
        listed = ["golden::the_cpu_matches_torchvision", "golden::every_gpu_matches_torchvision", "sequences::late"]
        found = outputs.tests(LIBTEST, listed)
        self.assertEqual(found["passed"], ["golden::the_cpu_matches_torchvision"])
        self.assertEqual(found["failed"], ["golden::every_gpu_matches_torchvision"])
        self.assertEqual(found["unfinished"], ["sequences::late"])
        self.assertEqual(outputs.listed("a::b: test\nc: benchmark\n\n1 test, 1 benchmark\n"), ["a::b"])

    def test_panics_and_distances(self) -> None:
        (first, message), (second, other) = outputs.panics(LIBTEST)
        self.assertEqual((first, second), ("golden::every_gpu_matches_torchvision", "sequences::sequences_equal"))
        self.assertTrue(message.startswith("torchvision against") and message.endswith("1.00e-5"), message)
        self.assertEqual(other, "value 3 of it")
        hue, nan = outputs.distances(LIBTEST)
        self.assertEqual((hue["case"], hue["value"], hue["distance"], hue["allowed"]), ("point/hue 1", 307, 8.57e-3, 1e-4))
        self.assertEqual((nan["case"], nan["value"]), ("resize/a, b", 5))
        (bytes_,) = outputs.distances("  Posterize Uint8: value 7 is 12, not 14\n")
        self.assertEqual((bytes_["distance"], bytes_["allowed"]), (2.0, None))

    def test_bits(self) -> None:
        text = (
            "CPU, deit, cache off, views 1: aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\n"
            "X (Vulkan), shaders, deit, cache off, views 1: aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\n"
            "X (Vulkan), shaders, deit, cache device, views 1: aaaaaaaaaaaaaaaa cccccccccccccccc\n"
            "X (Vulkan), shaders, deit, cache device in bytes, views 1: 1 2\n"
            "X (Vulkan), shaders, augmix, cache off, views 2: it has no shaders\n"
        )
        found = outputs.bits(text)
        self.assertEqual(len(found), 5)
        self.assertEqual(outputs.cache_differs(found), (1, ["X (Vulkan), shaders, deit, cache device, views 1"]))
        places = outputs.by_place(found)
        self.assertEqual(set(places), {"CPU", "X (Vulkan), shaders"})
        self.assertEqual(outputs.differing(places["X (Vulkan), shaders"], places["CPU"]), (1, []))
        self.assertEqual(outputs.differing(found, dict(found, **{"CPU, deit, cache off, views 1": "other"}))[1], ["CPU, deit, cache off, views 1"])

    def test_the_probe(self) -> None:
        text = (
            "adapter 0: X\n  uuid=00 memory=DEDICATED\nresult: adapter=0 consumer=cuda order=host hand-overs=20 wrong=3 milliseconds=12.30\n"
            "failed: adapter=0 consumer=cuda order=binary: cuImportExternalSemaphore returns 801\n"
            "not possible: adapter=1 consumer=cuda order=timeline: the driver exports no such semaphore\n"
        )
        host, binary, timeline = outputs.handed_over(text)
        self.assertEqual((host["wrong"], host["hand_overs"], host["milliseconds"], host["kind"]), (3, 20, 12.3, "result"))
        self.assertEqual((binary["kind"], binary["reason"]), ("failed", "cuImportExternalSemaphore returns 801"))
        self.assertEqual((timeline["adapter"], timeline["kind"]), (1, "not possible"))

    def test_options_and_last_lines(self) -> None:
        text = (
            "Options:\n      --mode <M>\n          How\n\n          Possible values:\n          - fast: Quick\n          - slow-er\n\n"
            "      --kind <K>      Which [possible values: a,\n                      b]\n  -h, --help  Print help\n"
        )
        self.assertEqual(outputs.choices(text), {"--mode": ["fast", "slow-er"], "--kind": ["a", "b"], "--help": []})
        self.assertEqual(outputs.result('RESULT {"a": 1}\nRESULT {"a": 2}\nmore'), {"a": 2})
        self.assertIsNone(outputs.result("nothing"))
        self.assertEqual(outputs.last_words("", "a\nb\nc\n"), "b / c")


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
        made = [parts.Part("a", "holds", 2, 3 << 20, 1 << 20, "00"), parts.missing("photographs", "JPEGs", "there is no folder")]
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
        writer.write("table.md", f"GPU-{UUID} at /tmp/work/x\n{UUID.replace('-', '').upper()} and {'0' * 32}\n0123456789abcdef 0123456789abcdef")
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
        messages = '{"reason":"compiler-artifact","target":{"name":"bits"},"executable":"/x/bits"}\n{"target":{"name":"lib"},"executable":null}\nwarning\n'
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


class Drivers(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def drivers(self, names: List[str], nvidia: bool, loads: bool = False, elsewhere: str = "nowhere"):
        with mock.patch.object(machine, "loads", lambda library: loads):
            return machine.drivers(self.folder, [Path("/icd") / name for name in names], nvidia, self.folder / elsewhere)

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
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=graphics", how)
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

    def test_the_window_of_a_card(self) -> None:
        text = (
            "GPU 0\n    FB Memory Usage\n        Total                             : 81559 MiB\n        Used : 1 MiB\n"
            "    BAR1 Memory Usage\n        Total                             : 131072 MiB\n"
        )
        self.assertEqual(machine.nvidia_windows(text), ["NVIDIA 0: 81559 MiB, 131072 of it in the processor's window"])
        self.assertEqual(machine.nvidia_windows("no devices were found"), [])
        self.assertGreaterEqual(machine.facts()["cores"], 1)


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.packed = self.folder / "packed"
        self.results = self.folder / "results"

    def pack(self, **other: str) -> None:
        """A packed folder with stubs."""
        staged = self.folder / "staged"
        staged.mkdir(exist_ok=True)
        self.packed.mkdir(exist_ok=True)
        for name, body in {**STUBS, **other}.items():
            stub(staged / name, body)
        programs = {f"programs/{path.name}": path for path in staged.iterdir()}
        made = [parts.write(self.packed, "programs", "stubs", programs, parts.DATA)]
        picture = self.folder / "1.jpg"
        picture.write_bytes(b"a picture")
        made.append(parts.write(self.packed, "photographs", "1 JPEG", {"photographs/class/1.jpg": picture}))
        made.append(parts.write(self.packed, "wheel", "nothing", {"site/gpufeed/__init__.py": picture}))
        made.append(parts.missing("loaders", "Vulkan's loader", "no network"))
        parts.save(self.packed, {"version": "0.3.0", "commit": "abcdef0", "machine": os.uname().machine, "glibc": "2.2"}, made)

    def run_all(self, *more: str, environment: Dict[str, str] = {}) -> Dict[str, dict]:
        python = self.folder / "python"
        if not python.exists():
            stub(python, 'sys.exit("ModuleNotFoundError: No module named \'torch\'")')
        said = io.StringIO()
        given = [str(self.results), "--packed", str(self.packed), "--python", str(python), *more]
        with contextlib.redirect_stdout(said), mock.patch.dict(os.environ, environment):
            self.status = run.main(given)
        self.said = said.getvalue()
        self.facts = json.loads((self.results / "results.json").read_text())
        return {row["name"]: row for row in self.facts["steps"]}

    def test_every_step_has_a_line_and_none_stops_the_others(self) -> None:
        self.pack()
        rows = self.run_all()
        self.assertEqual(list(rows), [step.name for step in steps.STEPS])
        verdicts = {name: row["verdict"] for name, row in rows.items()}
        self.assertEqual(verdicts["doctor"], "passed", rows["doctor"])
        self.assertEqual(verdicts["goldens"], "FAILED")
        self.assertIn("2 cases are off, by up to 8.57e-03", rows["goldens"]["says"])
        self.assertIn("without an end: sequences::late", rows["goldens"]["says"])
        self.assertEqual(verdicts["determinism"], "passed", rows["determinism"])
        self.assertIn("a card (Vulkan), shaders: 0 of 1 have the CPU's bits", rows["determinism"]["says"])
        self.assertEqual(verdicts["hand-over to Vulkan"], "passed")
        self.assertIn("timeline: not possible", rows["hand-over to Vulkan"]["says"])
        self.assertEqual(verdicts["kernels"], "passed", rows["kernels"])
        self.assertIn("sampling 500 GB/s, 50 % of the copy", rows["kernels"]["says"])
        self.assertIn("1: 600, 4: 2,000", rows["pipeline"]["says"])
        for name in ("torch", "rivals on the card", "python"):
            self.assertEqual(verdicts[name], "no torch")
            self.assertIn("No module named 'torch'", rows[name]["says"])
        self.assertIn("--staging host: copy", rows["switches"]["says"])
        self.assertIn("this bench has no --loop-bounds", rows["switches"]["says"])
        self.assertEqual(verdicts["faults"], "passed")
        self.assertIn("no loaders: no network", rows["unpack"]["says"])
        self.assertEqual(self.status, 1)
        written = {path.name: path.stat().st_size for path in self.results.iterdir()}
        self.assertEqual(set(written), set(results.MOST))
        table = (self.results / "table.md").read_text()
        self.assertEqual(table.count("\n| "), len(steps.STEPS) + 1, table)
        self.assertIn("| hand-over to CUDA |", table)
        self.assertIn(table.strip(), self.said)
        for name in written:
            self.assertNotIn(UUID, (self.results / name).read_text(), name)
            self.assertNotIn("gpufeed-hardware-", (self.results / name).read_text(), name)
        self.assertIn("GPU-uuid-1", (self.results / "golden-failures.txt").read_text())

    def test_short_runs_leave_steps_out_and_say_so(self) -> None:
        self.pack()
        rows = self.run_all("--short")
        self.assertEqual((rows["faults"]["verdict"], rows["faults"]["says"]), ("left out", "by --short"))
        self.assertEqual(set(rows["kernels"]["data"]), {"imagenet-train"})

    def test_without_an_adapter(self) -> None:
        self.pack(gpufeed='print(json.dumps(dict(adapters=[], path=dict(why="there is none"), problems=["no driver"])))')
        rows = self.run_all()
        self.assertEqual((rows["doctor"]["verdict"], rows["doctor"]["says"]), ("no adapter", "there is none; no driver"))
        for name in ("goldens", "determinism", "hand-over to Vulkan", "kernels", "pipeline", "switches", "faults"):
            self.assertEqual(rows[name]["verdict"], "no adapter")
        self.assertEqual(self.status, 0)

    def test_torch_with_cuda_runs_the_programs_of_torch(self) -> None:
        self.pack()
        facts = {"python": [3, 12, 3], "torch": "2.11", "torchvision": "0.26", "cuda": True, "why": "", "device": "a card", "cards": 1}
        rivals = {"says": ["files: a, 1 images/s"], "failed": [], "images_per_second": {"a": {"median": 1, "min": 1, "max": 2}}, "missing": {}}
        loader = {"says": ["pixels"], "failed": ["pixels"]}
        stub(self.folder / "python", f"""
            answers = {{"torch_facts.py": {facts!r}, "torch_rivals.py": {rivals!r}, "torch_loader.py": {loader!r}}}
            assert "torch_facts.py" in words[0] or os.environ["PYTHONPATH"].split(":")[0].endswith("/site"), os.environ
            print("RESULT " + json.dumps(answers[os.path.basename(words[0])]))
        """)
        rows = self.run_all()
        self.assertEqual(rows["torch"]["says"], "torch 2.11, torchvision 0.26, a card")
        self.assertEqual((rows["rivals on the card"]["verdict"], rows["python"]["verdict"]), ("passed", "FAILED"))
        facts["cuda"], facts["why"] = False, "no card"
        stub(self.folder / "python", f"print('RESULT ' + json.dumps({facts!r}))")
        rows = self.run_all()
        self.assertEqual(rows["python"]["verdict"], "no CUDA")
        self.assertIn("no card", rows["rivals on the card"]["says"])

    def test_wrong_and_hanging_programs(self) -> None:
        child = self.folder / "child"
        self.pack(
            faults=f'''
                if "--list" in words:
                    print("gpu::e: test\\ngpu::f: test")
                else:
                    print("test gpu::e ... ok", flush=True)
                    import subprocess
                    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5); open({str(child)!r}, 'w')"])
                    time.sleep(60)
            ''',
            external_memory='os.kill(os.getpid(), 11)',
            bits='print("nothing")',
        )
        several = {"faults": 1.0, "hand-over to Vulkan": 5.0, "determinism": 5.0, "doctor": 5.0, "unpack": 5.0}
        chosen = [step._replace(seconds=several[step.name]) for step in steps.STEPS if step.name in several]
        began = time.monotonic()
        with mock.patch.object(steps, "STEPS", tuple(chosen)), mock.patch.object(run, "WHOLE", 60):
            with mock.patch.object(run.Context, "left", lambda context: max(0.0, context.until - time.monotonic())):
                rows = self.run_all()
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(rows["hand-over to Vulkan"]["verdict"], "not possible", rows["hand-over to Vulkan"])
        self.assertEqual(rows["determinism"]["verdict"], "stopped", rows["determinism"])
        self.assertIn("0 of 0", rows["determinism"]["says"])
        time.sleep(0.5)
        self.assertFalse(child.exists(), "what a stopped program has started ends with it")

    def test_a_program_that_crashes_is_no_success(self) -> None:
        self.pack(pixels='print("a::b: test") if "--list" in words else os.kill(os.getpid(), 11)', gpufeed=STUBS["gpufeed"].replace("CARD)", '"{"); sys.exit(1)'))
        rows = self.run_all()
        self.assertEqual(rows["goldens"]["verdict"], "FAILED")
        self.assertIn("pixels ended by -11", rows["goldens"]["says"])
        self.assertEqual((rows["kernels"]["verdict"], rows["pipeline"]["verdict"]), ("FAILED", "FAILED"))

    def test_a_foreign_or_damaged_folder(self) -> None:
        self.pack()
        manifest = self.packed / parts.MANIFEST
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**facts, "machine": "vax"}))
        self.assertIn("packed for vax", self.run_all()["unpack"]["says"])
        manifest.write_text(json.dumps({**facts, "glibc": "9.1"}))
        self.assertIn("need glibc 9.1", self.run_all()["unpack"]["says"])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(run.main([str(self.results), "--packed", str(self.folder / "nowhere")]), 2)
        self.assertIn("pack makes the folder", said.getvalue())

    def test_the_time_of_all_steps_is_that_of_a_run(self) -> None:
        self.assertLessEqual(sum(step.seconds for step in steps.STEPS) + run.WRITING, 9 * 60)
        self.assertLessEqual(sum(step.short for step in steps.STEPS) + run.WRITING, 4 * 60)
        self.assertLessEqual((run.WHOLE, run.SHORT), (9 * 60, 4 * 60))

    def test_no_time_is_left(self) -> None:
        self.pack()
        with mock.patch.object(run, "WHOLE", run.WRITING + 1):
            rows = self.run_all()
        self.assertEqual({row["verdict"] for row in rows.values()} - {"no adapter", "no torch", "no CUDA"}, {"left out"})
        self.assertEqual(rows["unpack"]["says"], "no time is left")

    def test_a_report(self) -> None:
        self.pack()
        self.run_all()
        page = self.report()
        self.assertEqual(page.name, "hardware-a-card-linux.md")
        text = page.read_text()
        for part in ("# a card", "| goldens |", "## Kernels", "| strip, f32 | 10.0 | 0.020 | 500.0 | 50 % |", "| upload: ring and copy |", "1,000,000 images/s",
                     "| GPU: shaders | 600 | 2,000 |", "| point/hue 1 | -2.0357141 | -2.044287 | 8.57e-03 |", "cards/a-card-linux.json",
                     "the driver exports no such semaphore"):
            self.assertIn(part, text)
        self.assertEqual(json.loads((page.parent / "cards/a-card-linux.json").read_text()), CARD)

    def test_a_rehearsal_is_no_card(self) -> None:
        self.pack()
        self.run_all("--short", environment={"GPUFEED_HOSTILE": "discrete"})
        page = self.report()
        self.assertEqual(page.name, "hardware-rehearsal.md")
        self.assertIn("**A rehearsal**", page.read_text())
        self.assertFalse((page.parent / "cards").exists())

    def report(self) -> Path:
        to = self.folder / "pages"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(report.main([str(self.results), "--to", str(to)]), 0)
        return Path(said.getvalue().splitlines()[-1])

    def test_a_report_of_nothing(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(report.main([str(self.folder)]), 2)
            (self.folder / "results.json").write_text('{"schema": 9}')
            (self.folder / "table.md").write_text("")
            self.assertEqual(report.main([str(self.folder)]), 2)
        self.assertIn("schema 9", said.getvalue())


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

"""Runs of `hardware.sh` and their pages, with stubs in the place of programs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Dict, Optional
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import context  # noqa: E402
import parts  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
import steps  # noqa: E402
from stubs import CARD, STUBS, UUID, stub  # noqa: E402


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
        parts.save(
            self.packed, {"version": "0.3.0", "commit": "abcdef0", "machine": os.uname().machine, "glibc": "2.2"}, made
        )

    def run_all(self, *more: str, environment: Optional[Dict[str, str]] = None) -> Dict[str, dict]:
        python = self.folder / "python"
        if not python.exists():
            stub(python, "sys.exit(\"ModuleNotFoundError: No module named 'torch'\")")
        said = io.StringIO()
        given = [str(self.results), "--packed", str(self.packed), "--python", str(python), *more]
        with contextlib.redirect_stdout(said), mock.patch.dict(os.environ, environment or {}):
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
        self.assertIn("staging=host: 2,000 images/s, written at 9.0 GB/s", rows["switches"]["says"])
        self.assertIn("staging=in-place: not possible, error: --switch: ", rows["switches"]["says"])
        self.assertEqual(verdicts["switches"], "passed")
        self.assertIn("this bench has no switch f16, rows, slots, loop-bounds", rows["switches"]["says"])
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
        self.pack(
            gpufeed=STUBS["gpufeed"].replace("adapters=[other, adapter]", "adapters=[]").replace(
                'why="the first"), problems=[]', 'why="there is none"), problems=["no driver"]'
            )
        )
        rows = self.run_all()
        self.assertEqual(
            (rows["doctor"]["verdict"], rows["doctor"]["says"]), ("no adapter", "there is none; no driver")
        )
        for name in ("goldens", "determinism", "hand-over to Vulkan", "kernels", "pipeline", "switches", "faults"):
            self.assertEqual(rows[name]["verdict"], "no adapter")
        self.assertEqual(set(rows["pipeline"]["data"]), {"CPU"}, "which needs no adapter")
        self.assertEqual(self.status, 0)

    def test_torch_with_cuda_runs_the_programs_of_torch(self) -> None:
        self.pack()
        facts = {
            "python": [3, 12, 3],
            "torch": "2.11",
            "torchvision": "0.26",
            "why_no_torchvision": "",
            "cuda": True,
            "why": "",
            "device": "a card",
            "cards": 1,
        }
        rivals = {
            "says": ["files: a, 1 images/s"],
            "failed": [],
            "images_per_second": {"a": {"median": 1, "min": 1, "max": 2}},
            "missing": {},
        }
        loader = {"says": ["pixels"], "failed": ["pixels"]}
        handover = {
            "says": ["0 of 2000 batches torn"],
            "failed": [],
            "torn": 0,
            "handed over": {
                "microseconds": 1234.4,
                "gb_per_second": 31.2,
                "host_microseconds": 56.0,
                "longer": 0.017,
            },
            "by the CPU, copied ahead": {"microseconds": 9876.0, "gb_per_second": 3.9},
        }
        stub(
            self.folder / "python",
            f"""
            answers = {{"torch_facts.py": {facts!r}, "torch_rivals.py": {rivals!r}, "torch_loader.py": {loader!r},
                        "torch_handover.py": {handover!r}}}
            assert "torch_facts.py" in words[0] or os.environ["PYTHONPATH"].split(":")[0].endswith("/site"), os.environ
            print("RESULT " + json.dumps(answers[os.path.basename(words[0])]))
        """,
        )
        rows = self.run_all()
        self.assertEqual(rows["torch"]["says"], "torch 2.11, torchvision 0.26, a card")
        self.assertEqual((rows["rivals on the card"]["verdict"], rows["python"]["verdict"]), ("passed", "FAILED"))
        self.assertEqual(rows["batches for torch"]["verdict"], "passed", rows["batches for torch"])
        page = report.page(self.facts, "", card=False)
        self.assertIn("| handed over | 1,234 | 31.2 | 56 | 2 % |\n| by the CPU, copied ahead | 9,876 | 3.9 |  |  |", page)
        lacking = {**facts, "torchvision": None, "why_no_torchvision": "RuntimeError: another version"}
        stub(self.folder / "python", f"print('RESULT ' + json.dumps({lacking!r}))")
        rows = self.run_all()
        self.assertEqual(rows["torch"]["says"], "torch 2.11, no torchvision, a card")
        python = rows["python"]
        self.assertEqual((python["verdict"], python["says"]), ("no torchvision", "RuntimeError: another version"))
        facts["cuda"], facts["why"] = False, "no card"
        stub(self.folder / "python", f"print('RESULT ' + json.dumps({facts!r}))")
        rows = self.run_all()
        self.assertEqual(rows["python"]["verdict"], "no CUDA")
        self.assertIn("no card", rows["rivals on the card"]["says"])

    def run_some(self, *names: str, each: float = 3.0) -> Dict[str, dict]:
        """The steps that prepare the others, and these: `unpack` with 3 seconds, the others with `each`."""
        chosen = [step for step in steps.STEPS if step.name in ("unpack", "doctor", *names)]
        chosen = [step._replace(seconds=3.0 if step.name == "unpack" else each) for step in chosen]
        with mock.patch.object(steps, "STEPS", tuple(chosen)):
            return self.run_all()

    def test_a_program_that_hangs(self) -> None:
        beats = self.folder / "beats"
        beat = f"import time; file = open({str(beats)!r}, 'a')\n"
        beat += "while file.write('.') and not file.flush(): time.sleep(0.05)"
        self.pack(
            faults=f"""
                if "--list" in words:
                    print("gpu::e: test\\ngpu::f: test")
                else:
                    print("test gpu::e ... ok", flush=True)
                    import subprocess
                    subprocess.Popen([sys.executable, "-c", {beat!r}])
                    time.sleep(60)
            """
        )
        began = time.monotonic()
        rows = self.run_some("faults", each=0.5)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(rows["faults"]["verdict"], "stopped", rows["faults"])
        self.assertIn("1 of 2 tests passed; without an end: gpu::f", rows["faults"]["says"])
        before = beats.stat().st_size
        self.assertGreater(before, 0)
        time.sleep(0.5)
        self.assertEqual(beats.stat().st_size, before, "what a stopped program has started ends with it")

    def test_programs_that_crash_or_say_nothing(self) -> None:
        self.pack(external_memory="os.kill(os.getpid(), 11)", bits='print("nothing")')
        rows = self.run_some("determinism", "hand-over to Vulkan")
        self.assertEqual(rows["hand-over to Vulkan"]["verdict"], "FAILED", rows["hand-over to Vulkan"])
        self.assertIn("ended by -11", rows["hand-over to Vulkan"]["says"])
        self.assertEqual(rows["determinism"]["verdict"], "stopped", rows["determinism"])
        self.assertIn("0 of 0", rows["determinism"]["says"])
        self.pack(external_memory="sys.exit(3)", bits='print("X, shaders, deit, cache off, views 1: out of memory")')
        rows = self.run_some("determinism", "hand-over to Vulkan")
        self.assertEqual(rows["hand-over to Vulkan"]["verdict"], "not possible", rows["hand-over to Vulkan"])
        self.assertEqual(rows["determinism"]["verdict"], "FAILED", rows["determinism"])
        self.assertIn("3 errors: X, shaders, deit", rows["determinism"]["says"])

    def test_a_step_has_the_time_that_others_have_left(self) -> None:
        self.pack()
        rows = self.run_some("kernels", "pipeline")
        limits = [rows[name]["limit"] for name in ("unpack", "doctor", "kernels", "pipeline")]
        self.assertEqual(limits[0], 3.0)
        # 3 seconds each, and what the steps before have left of theirs.
        spent = sum(row["seconds"] for row in self.facts["steps"]) - rows["pipeline"]["seconds"]
        self.assertAlmostEqual(limits[3], 12 - spent, delta=0.5)
        self.assertTrue(all(limit >= 3.0 for limit in limits), limits)

    def test_a_program_that_crashes_is_no_success(self) -> None:
        self.pack(
            pixels='print("a::b: test") if "--list" in words else os.kill(os.getpid(), 11)',
            gpufeed=STUBS["gpufeed"].replace("CARD)", '"{"); sys.exit(1)'),
        )
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
        self.assertLessEqual(sum(step.seconds for step in steps.STEPS) + context.WRITING, 9 * 60)
        self.assertLessEqual(sum(step.short for step in steps.STEPS) + context.WRITING, 4 * 60)
        self.assertLessEqual((context.WHOLE, context.SHORT), (9 * 60, 4 * 60))

    def test_no_time_is_left(self) -> None:
        self.pack()
        with mock.patch.object(context, "WHOLE", context.WRITING + 1):
            rows = self.run_all()
        self.assertEqual(
            {row["verdict"] for row in rows.values()} - {"no adapter", "no torch", "no CUDA"}, {"left out"}
        )
        self.assertEqual(rows["unpack"]["says"], "no time is left")

    def test_a_report(self) -> None:
        self.pack()
        self.run_all()
        page = self.report()
        self.assertEqual(page.name, "hardware-a-card-linux.md")
        text = page.read_text()
        for part in (
            "# a card",
            "| goldens |",
            "## Kernels",
            "| strip, f32 | 10.0 | 0.020 | 500.0 | 50 % |",
            "| upload: ring and copy |",
            "1,000,000 images/s",
            "| GPU: shaders | 600 | 2,000 |",
            "| point/hue 1 | -2.0357141 | -2.044287 | 8.57e-03 |",
            "cards/a-card-linux.json",
            "the driver exports no such semaphore",
        ):
            self.assertIn(part, text)
        self.assertEqual(json.loads((page.parent / "cards/a-card-linux.json").read_text()), CARD)

    def test_a_rehearsal_is_no_card(self) -> None:
        self.pack()
        self.run_all("--short", environment={"GPUFEED_HOSTILE": "discrete"})
        page = self.report()
        self.assertEqual(page.name, "hardware-rehearsal.md")
        self.assertIn("**A rehearsal**", page.read_text())
        self.assertFalse((page.parent / "cards").exists())

    def test_a_software_adapter_is_no_card(self) -> None:
        self.pack(gpufeed=STUBS["gpufeed"].replace("DiscreteGpu", "Cpu"))
        self.run_all("--short")
        page = self.report()
        self.assertIn("**A software adapter.**", page.read_text())
        self.assertIn("a software adapter, no GPU", page.read_text())
        self.assertFalse((page.parent / "cards").exists())
        # One that is not asked for is not measured.
        self.pack(gpufeed=STUBS["gpufeed"].replace("DiscreteGpu", "Cpu").replace("taken=True", "taken=False"))
        rows = self.run_all("--short")
        self.assertEqual((rows["doctor"]["verdict"], rows["goldens"]["verdict"]), ("no adapter", "no adapter"))

    def test_a_clone_that_has_gone_on_since_it_was_packed(self) -> None:
        self.pack()
        git = mock.Mock(return_value=mock.Mock(returncode=0, stdout="abcdef0123456789\n"))
        with mock.patch.object(run.subprocess, "run", git):
            self.assertEqual(run.stale(self.packed), "")
            git.return_value.stdout = "1234567890abcdef\n"
            self.assertIn("is of commit abcdef0, this clone is at 12345678", run.stale(self.packed))
            git.return_value.returncode = 128
            self.assertEqual(run.stale(self.packed), "")

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


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests of scripts/nightly.sh and its --continue: the real scripts, with a stub in the place of every command that they run.

    python3 scripts/test_nightly.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import drivers

ROOT = Path(__file__).resolve().parents[1]
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >>"$STUB_LOG"
echo "${GPUFEED_KEPT-}${GPUFEED_COMMIT-}${GPUFEED_STEPS-}" >>"$STUB_LOG.leaked"
case "$(basename "$0") $*" in
    "$STUB_STOPS"*) kill -TERM 0 ;;
    "$STUB_FAILS"*) exit 7 ;;
esac
"""
ROW = re.compile(r"^\| `(.*)` \| (\d+\.\d) \| (\S+) \| (.*) \|$", re.MULTILINE)


class Nightly(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"
        self.summary = self.folder / "benches" / "results" / "nightly.md"
        tools = self.folder / "tools"
        for folder in (self.folder / ".ci", self.folder / "scripts", self.summary.parent, tools):
            folder.mkdir(parents=True)
        stubs = [tools / "cargo", tools / "python3", tools / "git"]
        for path in (ROOT / "scripts").iterdir():
            if path.name in ("nightly.sh", "timed.sh", "system.sh"):
                shutil.copy(path, self.folder / "scripts")
            elif path.suffix == ".sh":
                stubs.append(self.folder / "scripts" / path.name)
        shutil.copy(ROOT / ".ci" / "run", self.folder / ".ci")
        for stub in stubs:
            stub.write_text(STUB)
            stub.chmod(0o755)
        self.commit("aaaaaaa")

    def commit(self, commit: str) -> None:
        (self.folder / "tools" / "git").write_text(f'#!/bin/sh\ntest "$1" = rev-parse && echo {commit} || true\n')

    def run_nightly(self, *arguments: str, fails: str = "nothing", stops: str = "nothing") -> tuple[int, list[str]]:
        """The exit status, and the commands that were run."""
        self.log.write_text("")
        found = os.environ["PATH"]
        env = os.environ | {"STUB_LOG": str(self.log), "STUB_FAILS": fails, "STUB_STOPS": stops}
        env = {name: value for name, value in env.items() if not name.startswith("GPUFEED_")}
        done = subprocess.run(
            ["bash", "scripts/nightly.sh", *arguments],
            cwd=self.folder,
            env=env | {"PATH": f"{self.folder / 'tools'}:{found}"},
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        self.output = done.stdout + done.stderr
        leaked = self.log.with_suffix(".leaked")
        if leaked.exists():
            self.assertEqual(set(leaked.read_text().split()), set(), "the variables of timed.sh reach what a script runs")
        return done.returncode, self.log.read_text().splitlines()

    def rows(self) -> dict[str, tuple[str, str]]:
        """The commit and the result of each step of the summary."""
        found = ROW.findall(self.summary.read_text())
        self.assertEqual(len({step for step, *_ in found}), len(found), "each step has one row")
        return {step: (commit, result) for step, _, commit, result in found}

    def test_a_whole_run_has_the_steps_of_ci_one_by_one(self) -> None:
        status, ran = self.run_nightly()
        self.assertEqual(status, 0, self.output)
        rows = self.rows()
        self.assertEqual(set(rows.values()), {("aaaaaaa", "passed")})
        self.assertIn("scripts/test.sh", rows)
        self.assertIn("scripts/fuzz.sh 60", rows)
        self.assertNotIn(".ci/run", rows)
        self.assertIn("ended on", self.summary.read_text())
        self.assertIn("all passed", self.summary.read_text())
        self.assertEqual(len(ran), len(rows))
        status, ran = self.run_nightly("--continue")
        self.assertEqual((status, ran), (2, []), "there is nothing to continue")

    def test_a_run_that_was_stopped_goes_on(self) -> None:
        for stops in ("test.sh", "fuzz.sh", "cargo fmt", "test-faults.sh", "test-web.sh"):
            with self.subTest(stops):
                self.commit("aaaaaaa")
                status, before = self.run_nightly(stops=stops)
                self.assertNotEqual(status, 0)
                text = self.summary.read_text()
                self.assertIn("stopped before its last step", text)
                first = self.rows()
                self.assertEqual(set(first.values()) | {("aaaaaaa", "passed")}, {("aaaaaaa", "passed")})
                self.assertEqual(len(first), len(before) - 1, "all but the one that was stopped")
                self.commit("bbbbbbb")
                status, after = self.run_nightly("--continue")
                self.assertEqual(status, 0, self.output)
                rows = self.rows()
                self.assertEqual({step: rows[step] for step in first}, first)
                rest = {step: row for step, row in rows.items() if step not in first}
                self.assertEqual(set(rest.values()), {("bbbbbbb", "passed")})
                self.assertEqual(len(after), len(rest), "no step that passed was run again")
                self.assertTrue(after[0].startswith(stops))

    def test_a_run_that_goes_on_and_is_stopped_keeps_what_it_has_not_come_to(self) -> None:
        status, _ = self.run_nightly(fails="test-web.sh")
        self.assertEqual(status, 1)
        passed = {step for step, (_, result) in self.rows().items() if result == "passed"}
        self.assertIn("scripts/fuzz.sh 60", passed)
        self.commit("bbbbbbb")
        status, _ = self.run_nightly("--continue", stops="test-web.sh")
        self.assertNotEqual(status, 0)
        self.assertIn("stopped before its last step", self.summary.read_text())
        self.assertEqual({step: row for step, row in self.rows().items() if step in passed}, dict.fromkeys(passed, ("aaaaaaa", "passed")))
        status, ran = self.run_nightly("--continue")
        self.assertEqual(status, 0, self.output)
        self.assertEqual([command.split()[0] for command in ran], ["test-web.sh"])

    def test_a_step_that_failed_is_run_again(self) -> None:
        for fails, in_ci in (("test-faults.sh", True), ("test-web.sh", False)):
            with self.subTest(fails):
                self.commit("aaaaaaa")
                status, _ = self.run_nightly(fails=fails)
                self.assertEqual(status, 1)
                self.assertIn(": FAILED", self.summary.read_text())
                failed = {step for step, (_, result) in self.rows().items() if result == "FAILED (7)"}
                self.assertEqual(failed, {f"scripts/{fails}"})
                self.commit("bbbbbbb")
                status, ran = self.run_nightly("--continue")
                self.assertEqual(status, 0, self.output)
                self.assertEqual(ran[0].split()[0], fails)
                # .ci/run ends with its first failure, and the others of nightly.sh go on.
                self.assertEqual(len(ran) > 1, in_ci)
                self.assertEqual({result for _, result in self.rows().values()}, {"passed"})

    def test_each_driver_has_a_step(self) -> None:
        _, ran = self.run_nightly()
        found = [command.split()[2] for command in ran if command.startswith("test-drivers.sh --only ")]
        self.assertEqual(found, [*drivers.PLAIN, *drivers.HOSTILE])


if __name__ == "__main__":
    unittest.main()

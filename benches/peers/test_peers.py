#!/usr/bin/env python3
"""Tests of everything but the rivals' own scripts: `python3 benches/peers/test_peers.py`. Needs Python alone."""

import argparse
import ast
import contextlib
import datetime
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import cells
import data
import gpufeed_command
import measure
import peer
import recipes
import report
import run
import turns

HERE = os.path.dirname(os.path.abspath(__file__))
ROW = {
    "recipe",
    "name",
    "version",
    "variant",
    "workers",
    "batch_size",
    "images_per_s",
    "cpu_ms_per_image",
    "peak_rss_mb",
    "note",
    "failed",
}
GOOD = 'print(\'RESULT {"images_per_s": 250.5, "cpu_ms_per_image": 4, "version": "1.2"}\')'


def cell(code=GOOD, recipe="A", name="fake", **more):
    return cells.Cell(recipe, name, "", 64, "a note", (sys.executable, "-c", code), **more)


def photographs(folder, count=3, ending=".JPEG"):
    for i in range(count):
        place = os.path.join(folder, f"class_{i % 2}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{i}{ending}"), "wb") as file:
            file.write(b"photograph %d" % i)


class Recipes(unittest.TestCase):
    def test_names_are_those_of_gpufeed(self):
        names = "imagenet-train resize-crop-256 resize-crop-224 resize-jitter-gray augment-only decode-only cifar-train"
        self.assertEqual(names.split(), [recipes.ALL[letter].name for letter in "ABCDEFG"])

    def test_only_what_a_recipe_makes_is_accepted(self):
        a, c, f = (recipes.ALL[letter] for letter in "ACF")
        self.assertIsNone(recipes.wrong(a, (64, 3, 224, 224), "float32", True, -2.1, 2.6, -0.1))
        self.assertIsNone(recipes.wrong(c, (8, 3, 224, 224), "float32", True, 0.0, 1.0, 0.45))
        self.assertIsNone(recipes.wrong(f, (375, 500, 3), "uint8", True, 0, 255, 100))
        for found in (
            ((8, 224, 224, 3), "float32", True, 0.0, 1.0, 0.45),
            ((8, 3, 224, 224), "float64", True, 0.0, 1.0, 0.45),
            ((8, 3, 224, 224), "float32", False, 0.0, 1.0, 0.45),
            ((8, 3, 224, 224), "float32", True, 0.0, 255.0, 100.0),
            ((8, 3, 224, 224), "float32", True, -0.1, 1.0, 0.45),
            ((8, 3, 224, 224), "float32", True, 0.4, 0.5, 0.45),
            ((8, 3, 224, 224), "float32", True, 0.0, 1.0, 0.001),
        ):
            self.assertIsNotNone(recipes.wrong(c, *found), found)
        self.assertIsNotNone(recipes.wrong(f, (375, 500), "uint8", True, 0, 255, 100))

    def test_every_rival_has_every_recipe(self):
        # gpufeed's own wheel has a row by its side; the command has the others.
        for package in {rival.package for rival in cells.RIVALS} - {"gpufeed"}:
            letters = "".join(rival.letters for rival in cells.RIVALS if rival.package == package and not rival.gpu)
            self.assertLessEqual(set("ABCDEFG"), set(letters), package)
            self.assertTrue(cells.pinned(package), package)

    def test_lists_that_are_not_built_in_are_files(self):
        for recipe in recipes.ALL.values():
            path = gpufeed_command.name_of(recipe)
            self.assertEqual(os.path.isfile(path), recipe.file, recipe.letter)
            if recipe.file:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn(f'name = "{recipe.name}"', text)
                self.assertEqual("RandomErasing" in text, recipe.erasing > 0)
                used = [policy for policy in ("RandAugment", "TrivialAugmentWide", "AugMix") if f'"{policy}"' in text]
                self.assertEqual([recipe.policy] if recipe.policy else [], used, recipe.letter)
                self.assertEqual("Normalize" in text, recipe.normalize is not None)
                self.assertEqual("views = 2" in text, recipe.views == 2)

    def test_lists_that_are_not_built_in_have_torchvisions_two_ways(self):
        for letter in (recipe.letter for recipe in recipes.ALL.values() if recipe.file):
            names = [each.name for each in cells.rivals(letter, "python", [], 2, 64, 1, None, {})]
            self.assertEqual(names, ["gpufeed, Python", "torchvision v2", "torchvision v2, PIL"], letter)

    def test_rows_of_a_recipe_have_names_of_their_own(self):
        chosen = cells.rivals("ABCDEFGHIKLM", "python", [], 2, 64, 1, None, {}, all_ways=True)
        self.assertEqual(len({(each.recipe, each.name) for each in chosen}), len(chosen))
        self.assertTrue(all(os.path.exists(each.command[1]) for each in chosen))
        self.assertEqual({each.batch for each in chosen if each.recipe == "G"}, {512})

    def test_without_a_gpu_its_rows_stay(self):
        chosen = cells.rivals("AF", "python", [], 2, 64, 1, "no GPU here", {})
        self.assertEqual({each.missing for each in chosen if "GPU" in each.name}, {"not measured: no GPU here"})
        self.assertEqual({each.missing for each in chosen if "GPU" not in each.name}, {None})

    def test_scripts_are_python(self):
        for name in sorted(os.listdir(HERE)):
            if name.endswith(".py"):
                with open(os.path.join(HERE, name), encoding="utf-8") as file:
                    compile(file.read(), name, "exec")


class Data(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = os.path.join(self.place, "pictures")
        os.mkdir(self.folder)

    def test_each_file_gets_four_names(self):
        photographs(self.folder)
        made = data.names(self.folder, 4, self.place)
        paths = data.files(made)
        self.assertEqual(len(paths), 12)
        self.assertEqual({os.path.basename(os.path.dirname(path)) for path in paths}, {"class_0", "class_1"})
        self.assertEqual(len({os.stat(path).st_ino for path in paths}), 3, "links, not copies")
        self.assertEqual(data.names(self.folder, 4, self.place), made, "made once")
        photographs(self.folder, 5)
        self.assertNotEqual(data.names(self.folder, 4, self.place), made, "a changed folder is another set")

    def test_where_links_fail_there_are_copies(self):
        photographs(self.folder, 1)
        source, target = data.files(self.folder)[0], os.path.join(self.place, "target.jpg")
        for broken in (["link"], ["link", "symlink"]):
            with contextlib.ExitStack() as stack:
                for name in broken:
                    stack.enter_context(mock.patch.object(os, name, side_effect=OSError("not on this disk")))
                data.another_name(source, target)
            self.assertEqual(os.path.islink(target), broken == ["link"])
            with open(target, "rb") as file:
                self.assertEqual(file.read(), b"photograph 0")
            os.remove(target)

    def test_a_folder_without_photographs_is_an_error(self):
        photographs(self.folder, ending=".txt")
        with self.assertRaisesRegex(FileNotFoundError, "no file ending"):
            data.names(self.folder, 4, self.place)

    def test_small_images_are_an_array_and_always_the_same(self):
        with open(data.small(self.place, images=7), "rb") as file:
            content = file.read()
        self.assertEqual(content[:8], b"\x93NUMPY\x01\x00")
        (length,) = struct.unpack("<H", content[8:10])
        self.assertEqual((10 + length) % 64, 0)
        described = {"descr": "|u1", "fortran_order": False, "shape": (7, 32, 32, 3)}
        self.assertEqual(ast.literal_eval(content[10 : 10 + length].decode().strip()), described)
        self.assertEqual(len(content) - 10 - length, 7 * 32 * 32 * 3)
        self.assertEqual(content[10 + length :][:3072], random.Random(0).randbytes(3072))


class Turns(unittest.TestCase):
    def test_everyone_has_a_turn_in_each_round(self):
        chosen = [cell(recipe=letter, name=str(i)) for letter in "CA" for i in range(6)]
        found = list(turns.order(chosen, 3, seed=5))
        rounds = [[each for number, each in found if number == wanted] for wanted in range(3)]
        for each in rounds:
            self.assertEqual(sorted(each, key=chosen.index), chosen)
            self.assertEqual([one.recipe for one in each], ["A"] * 6 + ["C"] * 6, "those compared run together")
        self.assertEqual(len({tuple(each) for each in rounds}), 3, "each round has its own order")
        self.assertEqual(found, list(turns.order(chosen, 3, seed=5)))
        self.assertNotEqual(found, list(turns.order(chosen, 3, seed=6)))

    def test_results_of_both_kinds(self):
        line = 'RESULT {"images_per_s": 1}\nRESULT {"images_per_s": 20.5, "cpu_ms_per_image": 2}\nthe end'
        found = turns.parse(line)
        self.assertEqual((found["images_per_s"], found["cpu_ms_per_image"], found["version"]), (20.5, 2.0, ""))
        own = {
            "version": "0.1.0",
            "executor": "shaders",
            "machine": {"other_cores_busy": 0.25},
            "images_per_second": {"median": 900.0, "min": 1, "max": 2, "runs": []},
            "cpu_seconds_per_image": 0.0015,
        }
        found = turns.parse("measuring\n" + json.dumps(own, indent=2))
        self.assertEqual(found["images_per_s"], 900.0)
        self.assertAlmostEqual(found["cpu_ms_per_image"], 1.5)
        self.assertEqual((found["version"], found["note"], found["other_cores_busy"]), ("0.1.0", "shaders", 0.25))

    def test_what_is_no_result(self):
        for text in ("", "fine", "RESULT", "RESULT {", "RESULT {}", '{"images_per_second": 3}'):
            with self.assertRaises((ValueError, KeyError, TypeError), msg=text):
                turns.parse(text)
        for rate in ("0", "-1", "NaN", "Infinity", "true", '"9"', "null"):
            with self.assertRaises(ValueError, msg=rate):
                turns.parse('RESULT {"images_per_s": %s}' % rate)

    def test_a_peer_that_works(self):
        with mock.patch.object(measure, "EVERY", 0.05):
            found = turns.take(cell("x = bytearray(64_000_000); import time; time.sleep(0.6); " + GOOD), 20)
        self.assertIsNone(found["failed"])
        self.assertEqual((found["images_per_s"], found["cpu_ms_per_image"]), (250.5, 4.0))
        if measure.LINUX:
            self.assertGreater(found["peak_rss_mb"], 60)
            self.assertGreaterEqual(found["other_cores_busy"], 0)

    def test_peers_that_fail_say_why(self):
        def reason(code):
            return turns.take(cell(code), 20)["failed"]

        self.assertRegex(reason("raise ValueError('no such decoder')"), "exit code 1: .*no such decoder")
        self.assertRegex(reason(GOOD + "; raise SystemExit(3)"), "exit code 3", "a result before a crash is none")
        self.assertRegex(reason("print('hello')"), "no result .*hello")
        self.assertRegex(reason("pass"), "it said nothing")
        absent = cells.Cell("A", "fake", "", 64, "", ("/no/such/program",))
        self.assertRegex(turns.take(absent, 20)["failed"], "cannot start /no/such/program")
        self.assertEqual(turns.take(cell(missing="no GPU"), 20), {"failed": "no GPU"})

    def test_a_peer_that_hangs_ends_with_its_children(self):
        with tempfile.NamedTemporaryFile("r") as file:
            child = "import time; time.sleep(60)"
            code = (
                f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {child!r}]);"
                f"open({file.name!r}, 'w').write(str(p.pid)); time.sleep(60)"
            )
            start = time.monotonic()
            self.assertRegex(turns.take(cell(code), 2.0)["failed"], "stopped after 2 s")
            self.assertLess(time.monotonic() - start, 8)
            pid = int(file.read())
        if measure.LINUX:
            deadline = time.monotonic() + 5
            # A dead child stays as a zombie until the system's first process has seen it.
            while (measure.fields(pid) or ["X"])[0] not in "ZX" and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertIn((measure.fields(pid) or ["X"])[0], "ZX")


@unittest.skipUnless(measure.LINUX, "reads /proc")
class Measure(unittest.TestCase):
    def test_children_count(self):
        burn = (
            "import time\nwhile time.process_time() < 0.3: pass\nx = bytearray(50_000_000); print(flush=True); input()"
        )
        before = measure.cpu_seconds()
        with subprocess.Popen(
            [sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            child.stdout.readline()
            self.assertIn(child.pid, measure.tree(os.getpid()))
            self.assertGreater(measure.cpu_seconds() - before, 0.25, "while it lives")
            self.assertGreater(measure.memory(child.pid)[0], 50_000_000)
            child.stdin.write("\n")
        self.assertGreater(measure.cpu_seconds() - before, 0.25, "when it has ended")
        self.assertNotIn(child.pid, measure.tree(os.getpid()))

    def test_the_machine_is_known(self):
        found = measure.machine()
        self.assertEqual(set(found), {"cpu", "cores", "memory_bytes", "os", "kernel"})
        self.assertTrue(all(found.values()), found)


class Array:
    """What `peer.check` asks of a NumPy array."""

    def __init__(self, low, high, mean):
        self.low, self.high, self.average = low, high, mean
        self.shape, self.dtype, self.size = (4, 3, 224, 224), "float32", 4 * 3 * 224 * 224
        self.flags = {"C_CONTIGUOUS": True}

    def min(self):
        return self.low

    def max(self):
        return self.high

    def mean(self, dtype):
        return self.average

    def __len__(self):
        return 4


class Peers(unittest.TestCase):
    def measured(self, *batches, seconds=0.02):
        return peer.run(peer.Peer(lambda: iter(batches), lambda batch: [batch]), recipes.ALL["C"], seconds)

    def test_whole_epochs_are_counted(self):
        start = time.perf_counter()
        found = self.measured(Array(0, 1, 0.4), Array(0, 1, 0.5), Array(0, 1, 0.5))
        self.assertEqual(found["images"], 12 * found["epochs"])
        self.assertGreaterEqual(found["epochs"], 2)
        self.assertGreater(found["images_per_s"], found["images"] / (time.perf_counter() - start))

    def test_the_warm_up_looks_at_batches(self):
        with self.assertRaisesRegex(ValueError, "recipe C: values 0"):
            self.measured(Array(0, 255, 90.0))
        with self.assertRaisesRegex(ValueError, "nothing is random"):
            self.measured(Array(0, 1, 0.5), Array(0, 1, 0.5))
        with self.assertRaisesRegex(ValueError, "no batch"):
            self.measured()

    def test_an_epoch_that_loses_images_is_no_result(self):
        lengths = iter([2, 2, 1, 1, 1])
        fake = peer.Peer(lambda: (Array(0, 1, 0.4 + 0.1 * i) for i in range(next(lengths, 1))), lambda batch: [batch])
        with self.assertRaisesRegex(ValueError, "images in . epochs of 8"):
            peer.run(fake, recipes.ALL["C"], 0.0)


class Report(unittest.TestCase):
    def outcome(self, rate, **more):
        return {
            "images_per_s": rate,
            "cpu_ms_per_image": 2.0,
            "version": "1.2",
            "note": "",
            "other_cores_busy": 0.0,
            "peak_rss_mb": 80.0 + rate,
            "memory": "PSS",
            "failed": None,
            **more,
        }

    def test_a_row_has_its_shape(self):
        found = report.row(cell(), [self.outcome(rate) for rate in (100.0, 300.0, 200.0)], 2)
        self.assertEqual(set(found), ROW)
        spread = {"median": 200.0, "min": 100.0, "max": 300.0, "runs": [100.0, 300.0, 200.0]}
        self.assertEqual(found["images_per_s"], spread)
        self.assertEqual((found["peak_rss_mb"], found["note"], found["failed"]), (380.0, "a note", None))
        self.assertEqual(found["version"], "1.2")

    def test_failures_stay(self):
        none = report.row(cell(version="0.9"), [{"failed": "it broke"}] * 2, 2)
        self.assertEqual(set(none), ROW)
        self.assertEqual((none["images_per_s"], none["failed"], none["version"]), (None, "it broke", "0.9"))
        self.assertEqual(none["note"], "a note; failed: it broke")
        some = report.row(cell(), [self.outcome(100.0), {"failed": "it broke"}], 2)
        self.assertEqual((some["images_per_s"]["runs"], some["failed"]), ([100.0], None))
        self.assertIn("1 of 2 runs failed: it broke", some["note"])

    def test_the_table_shows_every_row_the_fastest_first(self):
        rows = [
            report.row(cell(name="broken"), [{"failed": "it broke"}], 2),
            report.row(cell(name="slow"), [self.outcome(50.0)], 2),
            report.row(cell(name="fast"), [self.outcome(1234.0)], 2),
        ]
        when = datetime.datetime.now().astimezone()
        shown = report.table(report.document({}, when, {}, {"workers": 2, "batch_size": 64}, rows))
        places = [shown.index(word) for word in ("imagenet-train", "fast", "1,234", "slow", "broken", "it broke")]
        self.assertEqual(places, sorted(places))


class Gpufeed(unittest.TestCase):
    def test_a_template_is_filled_in(self):
        text = "prog {recipe} {name} {workers} {batch} {data} {seconds} {backend}"
        rows = gpufeed_command.rows("AG", ["cpu", "shaders"], text, "/a folder", 2, 64, 3.0)
        self.assertEqual(rows[0].command[1:7], ("A", "imagenet-train", "2", "64", "/a folder", "3.0"))
        self.assertEqual(rows[0].command[7:], ("--backend", "cpu"))
        self.assertEqual(rows[1].command[7:], ("--backend", "gpu", "--adapter", "llvmpipe", "--shaders"))
        self.assertEqual(rows[2].command[4:6], ("512", "procedural"))
        self.assertEqual([row.name for row in rows[:2]], ["gpufeed", "gpufeed (llvmpipe, shaders)"])

    def test_what_is_built_is_found(self):
        with tempfile.TemporaryDirectory() as target, mock.patch.dict(os.environ, CARGO_TARGET_DIR=target):
            self.assertIn("cargo build", gpufeed_command.rows("A", ["cpu"], None, "d", 2, 64, 1)[0].missing)
            deps = os.path.join(target, "release", "deps")
            os.makedirs(deps)
            with open(os.path.join(deps, "pipeline-0123"), "w") as file:
                os.fchmod(file.fileno(), 0o755)
            command = gpufeed_command.rows("F", ["cpu"], None, "d", 2, 64, 1)[0].command
            self.assertEqual(command[:3], (file.name, "--recipe", "decode-only"))
            with open(os.path.join(target, "release", "gpufeed"), "w") as file:
                pass
            command = gpufeed_command.rows("F", ["cpu"], None, "d", 2, 64, 1)[0].command
            self.assertEqual(command[:4], (file.name, "bench", "--recipe", "decode-only"))


class Whole(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory())
        self.json = os.path.join(self.place, "peers.json")
        photographs(os.path.join(self.place, "pictures"))

    def run_all(self, *more):
        ours = os.path.join(self.place, "ours.py")
        with open(ours, "w", encoding="utf-8") as file:
            file.write(GOOD)
        return subprocess.run(
            [
                sys.executable,
                os.path.join(HERE, "run.py"),
                "--data",
                os.path.join(self.place, "pictures"),
                "--json",
                self.json,
                "--gpufeed",
                f"{sys.executable} {ours}",
                *more,
            ],
            env={**os.environ, "PEERS_HOME": self.place},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_without_rivals_their_rows_say_so(self):
        done = self.run_all("--recipes", "A,decode-only", "--rounds", "2", "--workers", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.json, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found["schema"], 1)
        self.assertLessEqual(
            {"cpu", "cores", "memory_bytes", "os", "kernel", "other_cores_busy"}, set(found["machine"])
        )
        self.assertEqual(found["data"]["samples"], 12)
        self.assertLessEqual(
            {"workers": 3, "batch_size": 64, "seconds": 5.0, "rounds": 2}.items(), found["settings"].items()
        )
        self.assertEqual([entry["name"] for entry in found["recipes"]], ["A", "F"])
        self.assertTrue(all(set(row) == ROW for row in found["rows"]))
        own = [row for row in found["rows"] if row["name"] == "gpufeed"]
        self.assertEqual([row["images_per_s"]["runs"] for row in own], [[250.5] * 2] * 2)
        others = [row for row in found["rows"] if row["name"] != "gpufeed"]
        self.assertEqual(len(others), 12)
        for row in others:
            self.assertRegex(row["failed"], "setup.sh|no NVIDIA GPU", row["name"])
        self.assertIn("torchvision v2", done.stdout)

    def test_a_folder_without_photographs_ends_the_run(self):
        empty = os.path.join(self.place, "empty")
        os.mkdir(empty)
        done = self.run_all("--data", empty)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^error: --data: no file ending")

    def test_a_run_that_is_stopped_leaves_its_rounds(self):
        given = argparse.Namespace(rounds=3, seed=0, timeout=20.0)
        chosen = [cell(name="one"), cell(name="two", missing="no GPU")]
        with contextlib.redirect_stderr(io.StringIO()):
            rounds = [
                {each.name: len(runs) for each, runs in so_far.items()} for so_far in run.take_turns(chosen, given)
            ]
        self.assertEqual(rounds, [{"one": count, "two": count} for count in (1, 2, 3)])

    @unittest.skipUnless(measure.LINUX, "reads /proc")
    def test_a_run_that_is_told_to_end_ends_its_program(self):
        program = f"{sys.executable} -c 'import time; time.sleep(60)'"
        given = ["--data", os.path.join(self.place, "pictures"), "--json", self.json, "--recipes", "A"]
        with subprocess.Popen(
            [sys.executable, os.path.join(HERE, "run.py"), *given, "--gpufeed", program, "--only", "nobody"],
            env={**os.environ, "PEERS_HOME": self.place},
            stderr=subprocess.DEVNULL,
        ) as running:
            deadline = time.monotonic() + 20
            while len(members := measure.tree(running.pid)) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            # Seen as soon as it is forked: the run has to get as far as waiting for it.
            time.sleep(0.5)
            running.terminate()
        self.assertEqual(len(members), 2)
        self.assertFalse(os.path.exists(f"/proc/{members[1]}"))

    def test_wrong_arguments_are_errors(self):
        for more, said in (
            (["--recipes", "A,Z"], "'Z' is none of A"),
            (["--workers", "0"], "0 is less than 1"),
            (["--gpufeed", "prog {nothing}"], "the places are"),
            (["--gpufeed-ways", "quantum"], "'quantum' is none of cpu"),
            (["--json", "/no/such/folder/j"], "there is no folder /no/such/folder"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit) as end:
                run.arguments(["--data", "d", "--json", "j", *more])
            self.assertEqual(end.exception.code, 2)
            self.assertIn(said, errors.getvalue())


if __name__ == "__main__":
    unittest.main()

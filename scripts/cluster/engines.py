"""A data set packed by examples/cluster's Job for Kubernetes and its program for Spark: what one run of the command packs.

Neither engine is needed: the pods' commands run here one after the other, and a module stands in for pyspark.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from offline import samples
from tools import ROOT, Tools, say

EXAMPLES = ROOT / "examples" / "cluster"
STEPS = ["plan", "parts", "join"]
# Ray has brought a parser of YAML along.
PARSE = "import json, sys, yaml; print(json.dumps([*yaml.safe_load_all(open(sys.argv[1]))]))"

SPARK = '''\
from types import SimpleNamespace


class Context:
    def parallelize(self, numbers, slices):
        self.numbers = [*numbers]
        assert slices == len(self.numbers), "a part a task"
        return self

    def foreach(self, task):
        for number in reversed(self.numbers):
            task(number)


class SparkSession:
    builder = SimpleNamespace(
        appName=lambda name: SimpleNamespace(getOrCreate=lambda: SimpleNamespace(sparkContext=Context()))
    )
'''


def run_job(tools: Tools, job: dict[str, Any], folder: Path, path: str) -> None:
    """Runs a Job's pods, with `folder` as the volume /data. All have to end with 0, or Kubernetes would repeat them."""
    assert job["apiVersion"] == "batch/v1" and job["kind"] == "Job", job
    spec = job["spec"]
    pod = spec["template"]["spec"]
    [container], [volume] = pod["containers"], pod["volumes"]
    assert pod["restartPolicy"] == "Never"
    assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/data"}], job
    command = [word.replace("/data/", f"{folder}/") for word in container["command"]]
    if spec.get("completionMode") != "Indexed":
        tools.run(command, PATH=path)
        return
    for index in range(spec["completions"]):
        tools.run(command, PATH=path, JOB_COMPLETION_INDEX=str(index))


def engines(tools: Tools) -> None:
    assert tools.torch is not None
    gpufeed = tools.ranks.parent.parent / "gpufeed"
    folder = tools.folder / "engines"
    # The names of the Job.
    source, out = folder / "train", folder / "shards"
    shutil.copytree(tools.data, source)
    # A sample that cannot be decoded: one run and the join end with 3.
    # Other tests have left the file of a seek index beside the classes.
    classes = sorted(folder for folder in source.iterdir() if folder.is_dir())
    (classes[0] / "none.jpg").write_text("no image")
    path = f"{gpufeed.parent}:{os.environ['PATH']}"
    tools.ended_anyhow([gpufeed, "pack", source, folder / "whole"])
    whole = samples(folder / "whole")
    assert len(whole) == 2 * (tools.length + 1), f"{len(whole)} members in one run"

    parsed = tools.run([tools.torch, "-c", PARSE, EXAMPLES / "pack_job.yaml"])
    jobs = {job["metadata"]["labels"]["step"]: job for job in json.loads(parsed)}
    assert [*jobs] == STEPS, f"{[*jobs]}"
    for step in [*STEPS, "join"]:
        run_job(tools, jobs[step], folder, path)
    assert samples(out) == whole, "the Job has packed something else"
    # A join that fails is not taken for one that has named samples.
    shutil.rmtree(out)
    try:
        run_job(tools, jobs["join"], folder, path)
    except AssertionError as error:
        assert "there is no plan" in str(error), f"{error}"
    else:
        raise AssertionError("a join without a plan has ended with 0")

    (folder / "pyspark").mkdir()
    (folder / "pyspark" / "__init__.py").touch()
    (folder / "pyspark" / "sql.py").write_text(SPARK)
    by_spark = [tools.torch, EXAMPLES / "pack_spark.py", source, folder / "spark", 5, "--shard-bytes", "64K"]
    tools.run(by_spark, PATH=path, PYTHONPATH=str(folder))
    assert samples(folder / "spark") == whole, "the program for Spark has packed something else"
    say("the commands of the Job for Kubernetes and the program for Spark: joined as by one run, a sample that is no image named")

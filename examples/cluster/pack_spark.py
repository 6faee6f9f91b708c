"""Packs a data set into tar shards by Spark, a part a task: spark-submit pack_spark.py SOURCE OUT PARTS [settings of gpufeed pack]

All nodes have the command gpufeed on PATH and see SOURCE and OUT. Tasks that fail, or that Spark starts twice, do no harm.
"""

import subprocess
import sys

from pyspark.sql import SparkSession


def gpufeed(*arguments):
    done = subprocess.run(["gpufeed", "pack", *arguments], stderr=subprocess.PIPE, text=True)
    # 3: all is packed, and samples that could not be read or decoded were named.
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)


source, out, parts, *settings = sys.argv[1:]
context = SparkSession.builder.appName("gpufeed pack").getOrCreate().sparkContext
gpufeed(source, out, "--plan", "--parts", parts, *settings)


def pack(number):
    # A task has `spark.task.cpus` cores, one by default.
    gpufeed(source, out, "--part", f"{number}/{parts}", "--workers", "1")


context.parallelize(range(int(parts)), int(parts)).foreach(pack)
gpufeed(source, out, "--join")

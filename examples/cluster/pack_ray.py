"""Packs a data set into tar shards by Ray, a part a task: python pack_ray.py SOURCE OUT PARTS [settings of gpufeed pack]

All nodes have the command gpufeed on PATH and see SOURCE and OUT. RAY_ADDRESS names the cluster.
"""

import subprocess
import sys

import ray


def gpufeed(*arguments: str) -> None:
    done = subprocess.run(["gpufeed", "pack", *arguments], stderr=subprocess.PIPE, text=True)
    # 3: all is packed, and samples that could not be read or decoded were named.
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)


@ray.remote(num_cpus=1, max_retries=10, retry_exceptions=True)
def pack(source: str, out: str, part: str) -> None:
    # A part that was killed goes on where it ended. If its old process lives on, the new one waits for it; between two machines,
    # and with OUT in a store, both write the same objects.
    gpufeed(source, out, "--part", part, "--workers", "1")


source, out, parts, *settings = sys.argv[1:]
ray.init()
gpufeed(source, out, "--plan", "--parts", parts, *settings)
ray.get([pack.remote(source, out, f"{number}/{parts}") for number in range(int(parts))])
gpufeed(source, out, "--join")

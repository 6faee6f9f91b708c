"""A Ray cluster of two nodes on this machine's loopback, for tests and benches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ray
from ray._private import ray_constants
from ray.cluster_utils import Cluster

HERE = Path(__file__).parent


class TwoNodes:
    """The node of this process, and another one. Each has as many logical CPUs and bytes of store as are given; the other
    one alone has the resource "far"."""

    def __init__(self, cpus: int = 2, store: int = 256 << 20) -> None:
        # Workers are to find the tests' modules, and nobody is to be told of this cluster.
        os.environ["PYTHONPATH"] = str(HERE)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        # Ray's word for: all on this machine, by loopback.
        ray_constants.ENABLE_RAY_CLUSTER = False
        self._node = {
            "num_cpus": cpus, "object_store_memory": store, "include_dashboard": False, "node_ip_address": "127.0.0.1"
        }
        self.cluster = Cluster()
        self.cluster.add_node(**self._node)
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        self.second: Any = None
        self.add()

    def add(self) -> None:
        """Adds the second node, unless it is there."""
        if self.second is None:
            self.second = self.cluster.add_node(**self._node, resources={"far": 1})
            self.cluster.wait_for_nodes()

    def remove(self) -> None:
        """Removes the second node, as a machine goes that loses its power."""
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None

    def close(self) -> None:
        """Ends the cluster."""
        ray.shutdown()
        self.cluster.shutdown()

"""A fleet under Ray whose actors read from a server: the batches of the disk, credentials, the cache of a node."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")
pytest.importorskip("torch")

import gpufeed.ray  # noqa: E402
from cluster import TwoNodes  # noqa: E402
from pictures import tar_shards  # noqa: E402
from served import Served  # noqa: E402
from test_ray import alone, config, fleet_of, gone, one, process, seen  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
BLOCKS = {"order": ("blocks", 8, 2), "lanes": 4}


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    made = TwoNodes()
    yield made
    made.close()


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Two shards in a folder whose name is that of a bucket."""
    return tar_shards(tmp_path / "served" / "photos")


@pytest.fixture
def served(shards: Path) -> Iterator[Served]:
    made = Served(shards.parent)
    yield made
    made.close()


def read(served: Served) -> list[str]:
    """The shards of which bytes were asked."""
    return [path for method, path, _ in served.requests if method == "GET" and ".tar" in path]


def test_batches_from_a_web_server_are_those_of_the_disk(nodes: TwoNodes, shards: Path, served: Served, tmp_path: Path) -> None:
    whole = alone(config(str(shards / "photos-{0..1}.tar"), **BLOCKS), 2)
    (tmp_path / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    cached = {"counts": str(tmp_path / "sizes.json"), "remote_cache": (str(tmp_path / "cache"), "64M")}
    address = served.address.replace("http://", "http://user:secret@") + "/photos/photos-{0..1}.tar?sig=secret"
    given = config(address, **BLOCKS, **cached, read_ahead="16M")
    with fleet_of(given, 2) as fleet:
        assert "secret" not in repr(fleet) + fleet.explain()
        found = []
        for batch in fleet.batches():
            found.append(one(batch, batch.index))
            if batch.index == 3:
                os.kill(process(fleet, 1), signal.SIGKILL)
        assert found == whole and fleet.replaced >= 1 and read(served)
    assert gone()
    # Other actors read what these have left on the node's disk, also of a data set that was opened here.
    served.requests.clear()
    cache = {"remote_cache": cached.pop("remote_cache")}
    opened = gpufeed.open(address, **cached, **cache)
    with fleet_of(config(opened, **BLOCKS), 2) as fleet:
        assert "secret" not in repr(fleet) and seen(fleet.batches()) == whole and read(served) == []


def test_actors_get_credentials_by_their_runtime_env(nodes: TwoNodes, shards: Path, served: Served) -> None:
    """As docs/guide/pytorch/ray.md has it. This process has no variable of a store."""
    variables = {
        "AWS_ENDPOINT_URL": served.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "here",
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
    }
    given = config("s3://photos/photos-{0..1}.tar", **BLOCKS)
    options: dict[str, Any] = {"runtime_env": {"env_vars": variables}}
    with fleet_of(given, 2, options=options) as fleet:
        assert seen(fleet.batches()) == alone(config(str(shards / "photos-{0..1}.tar"), **BLOCKS), 2)
    assert read(served)
    with pytest.raises(gpufeed.RunError, match="has not begun an actor for .*num_cpus.: 64") as raised:
        fleet_of(given | {"workers": 1}, 1, num_cpus=64, start_timeout=2, options=options)
    assert "secret" not in str(raised.value)
    assert gone()


def test_errors_show_no_address_with_credentials(nodes: TwoNodes) -> None:
    address = "https://user:secret@host/photos.tar"
    for wrong, text in [(address, "^config: a str; "), ({"path": address}, "^config: a dictionary of path; ")]:
        with pytest.raises(gpufeed.ArgumentError, match=text) as raised:
            gpufeed.ray.DataLoader(wrong, actors=1)  # type: ignore[arg-type]
        assert "secret" not in str(raised.value)

"""Calls that mypy refuses. `mypy --strict` finds an ignore that is not needed, so a call that it took would be an error."""

import gpufeed

gpufeed.DataLoader("data", recipe="imagenet-train", worker=2)  # type: ignore[call-arg]
gpufeed.DataLoader("data", recipe="imagenet-train", workers="two")  # type: ignore[arg-type]
gpufeed.DataLoader("data", recipe="imagenet-train", last_batch="wrap")  # type: ignore[arg-type]
gpufeed.DataLoader("data", recipe="imagenet-train", order=("block", 8, 64))  # type: ignore[arg-type]
gpufeed.open("data", labels="label")  # type: ignore[call-arg]
gpufeed.open("data", data_layout="hwc")  # type: ignore[arg-type]
gpufeed.pack("data", "out", max_size=500)  # type: ignore[call-arg]
gpufeed.pack("data", "out", to="zip")  # type: ignore[arg-type]

# These it takes.
gpufeed.DataLoader("data", recipe="imagenet-train", order=("blocks", 8, 64), cache="host:1G", shard=None, on_error=0.5)
gpufeed.DataLoader("data", recipe="imagenet-train", **gpufeed.settings("run.toml"))
gpufeed.open("s3://photos/train", remote_cache=("/scratch", "20G"), remote_store={"AWS_REGION": "eu-west-1"})
gpufeed.pack("data", "s3://photos/train", part=(3, 8), progress=lambda done, all: None, verify=True).samples

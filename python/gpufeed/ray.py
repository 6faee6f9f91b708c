"""Decodes with a fleet of actors under Ray: ``gpufeed.ray.DataLoader``. CPU machines decode, and the trainer's machine
feeds its device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.blends import Blend
from gpufeed.collate import IMAGE
from gpufeed.crew import RayCrew
from gpufeed.errors import ArgumentError, RunError
from gpufeed.fleet import Fleet
from gpufeed.handover import Finish, HandOver
from gpufeed.loader import check_device
from gpufeed.opening import gives_pairs, has_fields
from gpufeed.parcel import Batch, Failure, StoredArray
from gpufeed.position import Positioned
from gpufeed.recipe import cut_normalize, recipe_of
from gpufeed.samplers import Native
from gpufeed.shard import Shard, resolve
from gpufeed.targets import is_flat
from gpufeed.views import groups_of, of_recipe

__all__ = ["Batch", "DataLoader", "Failure", "RemoteDataset", "StoredArray"]


class DataLoader(Positioned):
    """Batches that ``actors`` processes of a Ray cluster decode and transform. Ray chooses the node of each process.

    ``config`` is a dictionary of the arguments of :class:`gpufeed.DataLoader`, ``data`` among them. Each actor makes a
    loader of it: paths are those of its node. The arguments ``shard`` and ``device`` are those of the trainer: with
    ``shard="auto"``, the default, the share is that of this rank of ``torch.distributed`` or of the launcher, and the
    tensors are on ``device``. ``workers`` is ``num_cpus`` unless it is given.

    Actor ``a`` of rank ``r`` in world ``R`` has the share of rank ``r * actors + a`` in a world of ``R * actors``, and the
    actors take turns, so an epoch has one order, the same however often actors die. An actor that dies, alone or with
    its node, is replaced, and the new one makes the very batches that were due. ``batch_size`` is that of each batch.

    - ``finish_on_device`` (False) leaves the last ``Normalize`` to the trainer's device: actors send uint8, a quarter of
      float32's bytes.
    - ``ahead`` (2): batches of each actor that wait in the object store of its node, and as many in that of the trainer's.
    - ``num_cpus`` (1): what Ray sets aside for each actor; ``options`` has Ray's other options for them.
    - ``start_timeout`` (600): seconds without room for an actor in the cluster after which that is an error.

    Iterating, ``epochs``, ``batches``, ``set_epoch``, ``state_dict`` and ``load_state_dict`` are as those of
    :class:`gpufeed.DataLoader`. Tensors on the CPU lie in Ray's object store, and free their part of it as they go.

    ::

        import gpufeed.ray

        config = {"data": "/data/train", "recipe": "imagenet-train", "batch_size": 256, "shuffle": True, "device": "cuda"}
        with gpufeed.ray.DataLoader(config, actors=8, num_cpus=4, finish_on_device=True) as train:
            for images, labels in train:
                ...
    """

    _takes_turns = True

    _not_pickled = ("_running", "_buffers", "_crew", "_fleet", "_settled")

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        actors: int,
        finish_on_device: bool = False,
        ahead: int = 2,
        num_cpus: float = 1,
        options: Mapping[str, Any] | None = None,
        start_timeout: float = 600,
    ) -> None:
        super().__init__()
        if not isinstance(config, Mapping) or "data" not in config:
            # An address in the value may have credentials.
            given = f"a dictionary of {', '.join(map(str, config))}" if isinstance(config, Mapping) else f"a {type(config).__name__}"
            raise ArgumentError(
                f"config: {given}; a dictionary of gpufeed.DataLoader's arguments works, data among them: "
                '{"data": "/data/train", "recipe": "imagenet-train", "batch_size": 256}'
            )
        self._config = dict(config)
        if "normalize_on_device" in self._config:
            raise ArgumentError("normalize_on_device: a fleet's word for it is finish_on_device=, beside config")
        self._refuse_given_orders()
        self._shard = self._config.pop("shard", "auto")
        self.device = str(self._config.pop("device", "cpu"))
        check_device(self.device)
        self.batch_size = arguments.whole("batch_size", self._config.get("batch_size", 1), 1)
        self._config.setdefault("workers", max(1, int(num_cpus)))
        self._settle_recipe(arguments.flag("finish_on_device", finish_on_device))
        self.actors = arguments.whole("actors", actors, 1)
        self._ahead = arguments.whole("ahead", ahead, 1)
        self._options = {"num_cpus": num_cpus, "scheduling_strategy": "SPREAD"} | dict(options or {})
        self._start_timeout = float(start_timeout)
        self._begin()

    def _refuse_given_orders(self) -> None:
        """Refuses orders that Python makes: they would be asked in each actor's process."""
        for name in ("sampler", "batch_sampler"):
            given = self._config.get(name)
            if given is not None and not isinstance(given, Native):
                raise ArgumentError(f"{name}: a {type(given).__name__}, which the actors cannot share; a fleet takes those of gpufeed.orders alone")
        data = self._config["data"]
        if isinstance(data, Blend) and data.by_epoch:
            raise ArgumentError("data: a blend by functions of the epoch, which the actors cannot share; a fleet takes weights that are numbers")

    def _settle_recipe(self, finish: bool) -> None:
        """Makes a recipe of the transforms in this process, so that actors need no torch."""
        config = self._config
        nhwc = arguments.flag("channels_last", config.get("channels_last", False))
        if config.get("groups") is None and config.get("transforms") is None:
            found = of_recipe(config.get("recipe"))
            if found is not None:
                config["groups"] = found
                del config["recipe"]
        if config.get("groups") is not None:
            self._settle_groups(finish, nhwc)
            return
        config.pop("groups", None)
        words = (config.pop(name, None) for name in ("transforms", "recipe", "batch_transforms"))
        content, self.notes, classes = recipe_of(*words)
        if classes is not None and config.setdefault("num_classes", classes) != classes:
            raise ArgumentError(
                f"num_classes: {config['num_classes']}, but batch_transforms has num_classes={classes}; give one of the two"
            )
        normalize = None
        if finish:
            normalize = cut_normalize(content, config.get("dtype"), "finish_on_device")
            config["dtype"] = "uint8"
        elif config.get("dtype") is not None:
            config["dtype"] = arguments.dtype("dtype", config["dtype"])
        config["recipe"] = content
        self._hand_over({IMAGE: Finish(nhwc, normalize)})

    def _settle_groups(self, finish: bool, nhwc: bool) -> None:
        config = self._config
        defaults = {name: config.pop(name, None) for name in ("layout", "dtype", "semantics")}
        if defaults["dtype"] is not None:
            defaults["dtype"] = arguments.dtype("dtype", defaults["dtype"])
        defaults |= {"normalize_on_device": finish, "channels_last": nhwc}
        groups = groups_of(config["groups"], defaults, "finish_on_device")
        config.pop("channels_last", None)
        config["groups"], self.notes = groups.of_recipes(), groups.notes
        self._hand_over(groups.finishes)

    def _hand_over(self, finishes: dict[str, Finish]) -> None:
        data = self._config["data"]
        data = data.dataset if isinstance(data, Blend) else data
        chosen = self._config.get("fields") not in (None, "none")
        of_data = self._config.get("thread_safe") is None and has_fields(data)
        flat = is_flat("targets", self._config.get("targets", "per_image"))
        self._hand = HandOver(finishes, chosen or of_data or "groups" in self._config, flat, gives_pairs(data))
        self._finished = any(finish.normalize is not None for finish in finishes.values())

    def _begin(self) -> None:
        self._crew: RayCrew | None = RayCrew(self._config, self.actors, self._ahead, self._options, self._start_timeout)
        self._fleet: Fleet | None = None
        self._settled: Shard | None = None
        try:
            # Wrong arguments raise an error already here. Their errors do not depend on the rank, which may not be
            # known yet.
            try:
                shard, _ = resolve(self._shard)
            except ArgumentError:
                shard = (0, 1)
            self._settle(shard)
        except BaseException:
            self.close()
            raise

    def _settle(self, shard: Shard) -> Fleet:
        assert self._crew is not None
        if self._fleet is None or shard != self._settled:
            fleet = Fleet(self._crew, shard)
            about = fleet.about
            if about.version != _gpufeed.__version__:
                raise RunError(
                    f"the actors have gpufeed {about.version}, this process has {_gpufeed.__version__}: install one version "
                    "on all nodes"
                )
            self._fleet, self._settled = fleet, shard
        return self._fleet

    def _loader(self) -> Fleet:
        self._check_open()
        return self._settle(resolve(self._shard)[0])

    def _host_buffers(self) -> Any:
        from gpufeed.host_buffers import HostBuffers
        from gpufeed.torch import CudaDevice, PlainDevice, resolve_device

        resolved = resolve_device(self.device)
        # The memory of Ray's store is not page-locked. torch copies it into page-locked blocks of its own.
        return HostBuffers(CudaDevice(resolved) if resolved.type == "cuda" else PlainDevice(resolved))

    def _made_with(self) -> dict[str, Any]:
        # The settings of the actors. They are known even after the actors have ended.
        fleet = self._loader() if self._fleet is None else self._fleet
        return fleet.about.settings

    def batches(self) -> Iterator[Batch]:
        """Returns the batches of the next epoch with all their facts: ``images`` and ``labels`` for
        ``torch.from_dlpack`` and its like, ``groups``, ``columns``, ``ids``, ``failures``, ``params``, ``mixed``, ``valid``,
        ``epoch``, ``index``."""
        return super().batches()

    @property
    def dataset(self) -> RemoteDataset:
        """The facts of the data set that are known here: its length and its classes."""
        about = self._loader().about
        return RemoteDataset(about.samples, about.classes)

    @property
    def replaced(self) -> int:
        """The number of actors that have died and were replaced."""
        return 0 if self._crew is None else self._crew.replaced

    def explain(self) -> str:
        """Describes the first actor's loader and the fleet."""
        fleet = self._loader()
        (rank, world), source = resolve(self._shard)
        first, last = fleet.shards[0][0], fleet.shards[-1][0]
        finish = "finished on the device: the last Normalize" if self._finished else None
        lines = [
            fleet.crew.ask("explain", fleet.shards[0]),
            f"fleet: rank {rank} of {world} by {source} has {self.actors} actors, ranks {first} to {last} of "
            f"{fleet.shards[0][1]}, which take turns",
            f"store: up to {self._ahead} batches of each actor wait on its node, and {self._ahead} here",
            finish,
            f"device: {self.device}",
        ]
        return "\n".join([*(line for line in lines if line is not None), *(f"note: {note}" for note in self.notes)])

    def stats(self) -> list[dict[str, Any]]:
        """Returns the statistics of each actor's loader since it was made, as :meth:`gpufeed.DataLoader.stats` does."""
        fleet = self._loader()
        assert self._crew is not None
        return self._crew.ask_each("stats", fleet.shards)

    def replay(self, index: int, params: str, group: str | None = None) -> bytes:
        """Makes one image again from its parameters (``batch.params``, or those of ``batch.groups[group]``). Returns its bytes as
        the actors send them."""
        fleet = self._loader()
        found: bytes = fleet.crew.ask("replay", fleet.shards[0], arguments.whole("index", index), params, group)
        return found

    def close(self) -> None:
        """Ends the iteration under way and the actors. Tensors stay valid."""
        super().close()
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def __repr__(self) -> str:
        data = self._config["data"]
        shown = repr(_gpufeed.shown(arguments.path("data", data))) if arguments.is_path(data) else repr(data)
        return f"gpufeed.ray.DataLoader({shown}, actors={self.actors})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._running = self._buffers = None
        self._begin()


class RemoteDataset:
    """A data set that other processes read: its length, and the names of its classes."""

    def __init__(self, samples: int, classes: list[str]) -> None:
        self._samples = samples
        self.classes = classes

    def __len__(self) -> int:
        """Returns the number of samples."""
        return self._samples

    def __repr__(self) -> str:
        return f"RemoteDataset({self._samples} samples, {len(self.classes)} classes)"

"""The checks of keywords, which also make the form for the native module. Written by scripts/settings.py."""

from __future__ import annotations

from functools import partial

from gpufeed import arguments

# The fields of ``LoaderSettings``, but for the share, which is known at the first iteration.
LOADER: dict[str, arguments.Check] = {
    "batch_size": partial(arguments.whole, least=1),
    "shuffle": arguments.flag,
    "seed": arguments.whole,
    "order": arguments.optional(arguments.order),
    "lanes": arguments.optional(partial(arguments.whole, least=1)),
    "last_batch": arguments.optional(partial(arguments.word, words=("partial", "drop", "pad"))),
    "views": arguments.optional(partial(arguments.whole, least=1)),
    "layout": arguments.optional(partial(arguments.word, words=("nchw", "nhwc"))),
    "dtype": arguments.optional(arguments.dtype),
    "semantics": arguments.optional(partial(arguments.word, words=("float", "uint8"))),
    "arrangement": arguments.optional(arguments.arrangement),
    "on_error": arguments.optional(arguments.on_error),
    "workers": arguments.optional(partial(arguments.whole, least=1)),
    "queue_depth": partial(arguments.whole, least=1),
    "memory_budget": arguments.size,
    "slot_bytes": arguments.size,
    "cache": arguments.optional(arguments.cache),
    "cache_in_bytes": arguments.flag,
    "execute": partial(arguments.word, words=("auto", "gpu", "cpu")),
    "exif": arguments.flag,
    "truncated": partial(arguments.word, words=("error", "fill")),
    "max_pixels": partial(arguments.whole, least=1),
    "max_decode_bytes": arguments.size,
    "scaled_decode": arguments.flag,
    "seek_indexes": arguments.path,
    "seek_memory": arguments.size,
    "read_ahead": arguments.optional(arguments.size),
    "remote_cache": arguments.optional(arguments.remote_cache),
}

# The keywords that only Python has.
PYTHON: dict[str, arguments.Check] = {
    "backend": arguments.text,
    "exit_timeout": arguments.seconds,
}

# The keywords of paths. ``python/src/opening/keywords.rs`` says which formats know each.
PATHS: dict[str, arguments.Check] = {
    "extensions": arguments.optional(arguments.texts),
    "allow_empty": arguments.optional(arguments.flag),
    "unlabelled": arguments.optional(arguments.flag),
    "max_file_bytes": arguments.optional(arguments.size),
    "fields": arguments.optional(arguments.fields),
    "max_field_bytes": arguments.optional(arguments.size),
    "image_column": arguments.optional(arguments.text),
    "label_column": arguments.optional(arguments.columns),
    "class_names": arguments.optional(arguments.class_names),
    "root": arguments.optional(arguments.path),
    "header": arguments.optional(arguments.flag),
    "delimiter": arguments.optional(arguments.character),
    "split": arguments.optional(arguments.text),
    "data_layout": arguments.optional(partial(arguments.word, words=("nhwc", "nchw", "numbered", "class_and_image", "image"))),
    "allow_unlabelled": arguments.optional(arguments.flag),
    "text_labels": arguments.optional(arguments.flag),
    "indexes": arguments.optional(arguments.path),
    "index_memory": arguments.optional(arguments.size),
    "put_indexes": arguments.optional(arguments.flag),
    "counts": arguments.optional(arguments.path),
    "part": arguments.optional(partial(arguments.word, words=("byclass", "bymerge", "balanced", "letters", "digits", "mnist"))),
    "max_page_bytes": arguments.optional(arguments.size),
    "targets_orientation": arguments.optional(partial(arguments.word, words=("stored", "displayed"))),
    "one_based": arguments.optional(arguments.flag),
    "kpt_shape": arguments.optional(arguments.pair),
    "remote_cache": arguments.optional(arguments.remote_cache),
    "remote_timeout": arguments.optional(arguments.seconds),
    "remote_retries": arguments.optional(arguments.whole),
    "remote_requests": arguments.optional(partial(arguments.whole, least=1, most=256)),
    "remote_min_rate": arguments.optional(arguments.size),
    "remote_certificates": arguments.optional(arguments.path),
    "remote_store": arguments.optional(arguments.texts_by_name),
}

# The keywords of ``gpufeed.pack``, and which of them are no settings.
PACK: dict[str, arguments.Check] = {
    "to": partial(arguments.word, words=("tar", "lmdb")),
    "shard_bytes": arguments.size,
    "split": partial(arguments.word, words=("train", "test")),
    "prefix": arguments.text,
    "shuffle": arguments.optional(arguments.whole),
    "fields": arguments.optional(arguments.fields),
    "max_field_bytes": arguments.size,
    "max_side": arguments.optional(partial(arguments.whole, least=1, most=65535)),
    "quality": arguments.optional(partial(arguments.whole, least=1, most=100)),
    "workers": arguments.optional(partial(arguments.whole, least=1)),
    "scratch": arguments.optional(arguments.path),
    "verify": arguments.flag,
    "plan": arguments.flag,
    "parts": arguments.optional(partial(arguments.whole, least=1)),
    "part": arguments.optional(arguments.part),
    "join": arguments.flag,
}

PACK_STEPS = ("plan", "parts", "part", "join", "progress")

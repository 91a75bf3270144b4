"""Arrays written by TensorStore in the background."""

from __future__ import annotations

import abc
import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from glassjax import xla
from glassjax.experimental.array_serialization.tensorstore_impl import (
    Spec,
    async_deserialize,
    async_serialize,
)
from glassjax.experimental.array_serialization.tensorstore_impl import (
    get_tensorstore_spec as spec_of_path,
)
from glassjax.runtime.array import Array

get_tensorstore_spec = partial(spec_of_path, driver="zarr", ocdbt=False)
_counts = itertools.count()


def is_remote_storage(tspec: Any) -> bool:
    """Return True if an array lies in a bucket: from its description by TensorStore, or its URL.

    >>> from glassjax.experimental.array_serialization import serialization
    >>> serialization.is_remote_storage({"driver": "zarr", "kvstore": {"driver": "gcs"}})
    True
    """
    if isinstance(tspec, str):
        return tspec.startswith(("gs://", "s3://"))
    for key in ("base", "kvstore"):
        if key in tspec:
            return is_remote_storage(tspec[key])
    return tspec.get("driver") in ("gcs", "s3")


class BarrierTimeoutError(Exception):
    """Some processes have not written their parts in time."""


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """A writer of arrays in the background, one set at a time.

    >>> from glassjax.experimental.array_serialization import serialization
    >>> manager = serialization.GlobalAsyncCheckpointManager()
    >>> isinstance(manager, serialization.GlobalAsyncCheckpointManagerBase)
    True
    """

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of the last write, if any."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until all is written."""

    @abc.abstractmethod
    def serialize(
        self,
        arrays: Sequence[Array],
        tensorstore_specs: Sequence[Spec],
        *,
        on_commit_callback: Callable[[], None],
    ) -> None:
        """Write arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> Any:
        """Read arrays."""


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """Writes arrays in a thread, and reads them.

    Arguments:
        timeout_secs: how long processes wait for each other.

    >>> import tempfile
    >>> from glassjax.experimental.array_serialization import serialization
    >>> manager = serialization.GlobalAsyncCheckpointManager()
    >>> x = jnp.arange(3)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     manager.serialize_with_paths([x], [f"{directory}/x"])
    ...     manager.wait_until_finished()
    ...     manager.deserialize_with_paths([x.sharding], [f"{directory}/x"])
    [Array([0, 1, 2], dtype=int32)]
    """

    def __init__(self, timeout_secs: int = 300):
        self._timeout = timeout_secs
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._count = 0

    def serialize(
        self,
        arrays: Sequence[Array],
        tensorstore_specs: Sequence[Spec],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Begin to write arrays, once the previous ones are written. All processes must call it.

        The arrays may be donated or deleted after it.

        Arguments:
            arrays: the arrays.
            tensorstore_specs: TensorStore's description of each.
            on_commit_callback: a function for process 0 to call once all processes have written
                their parts.
            transaction: a `tensorstore.Transaction`.
        """
        self.wait_until_finished()
        futures: list[Any] = []

        async def begin() -> None:
            pairs = zip(arrays, tensorstore_specs, strict=True)
            options: dict[str, Any] = {"commit_future": futures, "transaction": transaction}
            await asyncio.gather(*[async_serialize(x, spec, **options) for x, spec in pairs])

        asyncio.run(begin())
        self._count = next(_counts)
        self._thread = threading.Thread(target=self._finish, args=(futures, on_commit_callback))
        self._thread.start()

    def _finish(self, futures: Sequence[Any], done: Callable[[], None] | None) -> None:
        try:
            for future in futures:
                future.result()
            others = xla.coordination()
            if others is not None:
                others.wait(f"serialized/{self._count}", self._timeout)
            if others is None or others.index == 0:
                if done is not None:
                    done()
                if others is not None:
                    others.set(f"written/{self._count}", "all")
        except Exception as error:
            self._error = error

    def check_for_errors(self) -> None:
        """Raise the error of the last write, if any, once.

        Raises:
            BarrierTimeoutError: some processes have not written their parts in time.
        """
        error, self._error = self._error, None
        if error is None:
            return
        if isinstance(error, RuntimeError) and "DEADLINE_EXCEEDED" in str(error):
            raise BarrierTimeoutError(
                f"{error}: look whether a process has failed, or give more than "
                f"timeout_secs={self._timeout}"
            ) from error
        raise error

    def wait_until_finished(self) -> None:
        """Wait until all is written, by all processes, and `on_commit_callback` has returned."""
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        self.check_for_errors()
        others = xla.coordination()
        if others is not None and others.get(f"written/{self._count}", self._timeout) is None:
            raise BarrierTimeoutError("process 0 has not finished on_commit_callback in time")

    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Array]:
        """Read arrays, once the previous ones are written.

        Arguments:
            shardings: the sharding of each, or a `Format`.
            tensorstore_specs: TensorStore's description of each.
            global_shapes: their shapes; by default those on disk.
            dtypes: their dtypes; by default those on disk.
            concurrent_gb: the memory for reading, in GB; a larger part is read by itself.
        """
        self.wait_until_finished()
        count = len(shardings)
        shapes, types = global_shapes or [None] * count, dtypes or [None] * count

        async def read() -> list[Array]:
            limiter = _Memory(concurrent_gb * 10**9)
            rows = zip(shardings, tensorstore_specs, shapes, types, strict=True)
            return await asyncio.gather(*[async_deserialize(*row, limiter) for row in rows])

        return asyncio.run(read())

    def serialize_with_paths(
        self, arrays: Sequence[Array], paths: Sequence[str], **options: Any
    ) -> None:
        """`serialize` into directories or buckets, as zarr."""
        self.serialize(arrays, [get_tensorstore_spec(path) for path in paths], **options)

    def deserialize_with_paths(
        self, shardings: Sequence[Any], paths: Sequence[str], *args: Any, **options: Any
    ) -> list[Array]:
        """`deserialize` from directories or buckets."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, *args, **options)


class _Memory:
    """Bytes that readers acquire and release; a request above the total waits for all of it."""

    def __init__(self, limit: int):
        self._limit = self._free = limit
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, count: int) -> None:
        async with self._changed:
            needed = min(count, self._limit)
            await self._changed.wait_for(lambda: self._free >= needed)
            self._free -= needed

    async def release_bytes(self, count: int) -> None:
        async with self._changed:
            self._free += min(count, self._limit)
            self._changed.notify_all()


__all__ = [
    "BarrierTimeoutError", "GlobalAsyncCheckpointManager", "GlobalAsyncCheckpointManagerBase",
    "async_deserialize", "async_serialize", "get_tensorstore_spec", "is_remote_storage",
]  # fmt: skip

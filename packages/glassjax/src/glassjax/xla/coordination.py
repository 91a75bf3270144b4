"""Coordination of processes through jaxlib, and jaxlib's profiler."""

import ctypes
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil
from typing import Any, NamedTuple

from glassjax.xla.clients import import_module, set_client_option
from glassjax_stage3.backend import has_client

# Coordination of processes: jaxlib's service in the first process, and a client of it in each.
#
# Through it the processes find each other, publish short texts under keys, and wait for each other.
# A process that stops sending heartbeats is considered dead, and jaxlib ends all others.


# Seconds that a client waits beyond the service's own timeout, whose error names missing processes.
_GRACE = 5


class Timeouts(NamedTuple):
    """Seconds to wait for all processes to start, for a heartbeat, and for all to finish."""

    initialization: int
    heartbeat: int
    shutdown: int


class Coordination:
    """The membership of this process in a group that computes together.

    Arguments:
        address: the host and port of the service, as this process reaches it.
        bind_address: the host and port on which process 0 serves.
        count: the number of processes.
        index: the index of this process.
        timeouts: how long to wait.
        security: jaxlib's arguments for TLS.

    Raises:
        RuntimeError: the port is taken, or no service answers at the address in time.
    """

    def __init__(
        self,
        address: str,
        bind_address: str,
        count: int,
        index: int,
        timeouts: Timeouts,
        security: Mapping[str, Any],
    ):
        self.count, self.index, self.timeouts = count, index, timeouts
        jaxlib = import_module("jaxlib._jax")
        self._service = None
        if index == 0:
            self._service = jaxlib.get_distributed_runtime_service(
                bind_address,
                count,
                heartbeat_timeout=timeouts.heartbeat,
                shutdown_timeout=timeouts.shutdown,
                cluster_register_timeout=timeouts.initialization,
                **security,
            )
        self._client = jaxlib.get_distributed_runtime_client(
            address,
            index,
            init_timeout=timeouts.initialization + _GRACE,
            heartbeat_timeout=timeouts.heartbeat,
            shutdown_timeout=timeouts.shutdown,
            use_compression=True,
            **security,
        )
        self._client.connect()
        self._preemption: Any = None
        self.set(f"process/{index}", f"{_host()} {os.getpid()}")
        is_local = address.startswith(("127.", "localhost:", "[::1]:"))
        hosts = {"hostname": "127.0.0.1"} if is_local else {}
        collectives = jaxlib.make_gloo_tcp_collectives(distributed_client=self._client, **hosts)
        # jaxlib counts these timeouts in minutes
        minutes = ceil(timeouts.initialization / 60)
        set_client_option("distributed_client", self._client)
        set_client_option("node_id", index)
        set_client_option("num_nodes", count)
        set_client_option("collectives", collectives)
        set_client_option("get_local_topology_timeout_minutes", minutes)
        set_client_option("get_global_topology_timeout_minutes", minutes)

    # Texts under keys, visible to all processes

    def set(self, key: str, text: str) -> None:
        """Publish a text, replacing an earlier one."""
        self._client.key_value_set(f"glassjax/{key}", text, allow_overwrite=True)

    def delete(self, key: str) -> None:
        """Withdraw a text."""
        self._client.key_value_delete(f"glassjax/{key}")

    def get(self, key: str, seconds: float) -> str | None:
        """The text under a key; None if none is published in time."""
        try:
            text: str = self._client.blocking_key_value_get(f"glassjax/{key}", int(seconds * 1000))
        except RuntimeError as error:
            if "DEADLINE_EXCEEDED" in str(error):
                return None
            raise
        return text

    def process_texts(self, kind: str) -> dict[int, str]:
        """The texts under `kind/0`, `kind/1`, and so on, by number."""
        prefix = f"glassjax/{kind}/"
        found = self._client.key_value_dir_get(prefix)
        return {int(key.removeprefix(prefix)): text for key, text in sorted(found)}

    def wait(self, name: str, seconds: float) -> None:
        """Wait until all processes wait under this name; RuntimeError after a timeout."""
        self._client.wait_at_barrier(f"glassjax/{name}", int(seconds * 1000))

    def lives(self, processes: Sequence[int]) -> dict[int, int]:
        """The live processes among these, each with its incarnation number.

        Waits until all of the live ones ask about the same processes.
        """
        found: dict[int, int] = self._client.get_live_nodes([*processes])
        return found

    # Lost processes

    def described(self, index: int) -> str:
        """The number, host and pid of a process."""
        known = self.process_texts("process").get(index)
        if known is None:
            return f"process {index}"
        host, pid = known.split()
        return f"process {index} (pid {pid} on {host})"

    def losses(self, seconds: float = 0) -> list[str]:
        """Descriptions of the other processes that failed or seem to be lost.

        Looks several times, since a process may be missing before its end is known.
        """
        end = time.monotonic() + seconds
        while not (found := self._losses_now()) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def _losses_now(self) -> list[str]:
        with suppress(RuntimeError):
            failed = self.process_texts("failed")
            found = [f"{self.described(i)} failed: {text}" for i, text in failed.items()]
            here = _host()
            for index, text in self.process_texts("process").items():
                host, pid = text.split()
                if (
                    index not in (*failed, self.index)
                    and host == here
                    and not process_runs(int(pid))
                ):
                    found.append(f"{self.described(index)} is gone: it crashed or was killed")
            return found
        return []

    # Preemption

    def reached_preemption_sync_point(self, step: int) -> bool:
        """Return True at the step that all processes agree on after a preemption notice."""
        if self._preemption is None:  # from now on, SIGTERM is a notice
            self._preemption = import_module("jaxlib._jax").create_preemption_sync_manager()
            self._preemption.initialize(self._client)
        return bool(self._preemption.reached_sync_point(step))

    def close(self) -> None:
        """Leave the group, once all processes do."""
        if self._preemption is not None:
            self._preemption.shutdown()
        self._client.shutdown()
        if self._service is not None:
            self._service.shutdown()
        if not has_client():  # a later client is for this process alone
            for name, value in _SINGLE_PROCESS.items():
                set_client_option(name, value)


_SINGLE_PROCESS = {"distributed_client": None, "node_id": 0, "num_nodes": 1, "collectives": None}


def _host() -> str:
    import socket  # late: importing it takes milliseconds

    return socket.gethostname()


def process_runs(pid: int) -> bool:
    """Return False if a process of this host is known to have ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    if sys.platform == "linux":  # a zombie has ended, too
        with suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return ") Z " not in stat.read()
    return True


_joined: Coordination | None = None


def join_processes(*arguments: Any) -> Coordination:
    """Join other processes, with the arguments of `Coordination`."""
    global _joined
    _joined = Coordination(*arguments)
    return _joined


def leave() -> None:
    """Leave the other processes."""
    global _joined
    if _joined is not None:
        _joined.close()
        _joined = None


def _leave_in_child() -> None:
    """Forget the other processes: the connections to them stay with the parent."""
    global _joined
    if _joined is not None:
        for connection in (_joined._client, _joined._service):  # keep them: closing would hang
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        _joined = None
        if not has_client():
            for name, value in _SINGLE_PROCESS.items():
                set_client_option(name, value)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_in_child)


def coordination() -> Coordination | None:
    """The membership of this process, or None if it computes alone."""
    return _joined


# jaxlib's profiler.


def recorder() -> Any:
    """The module of sessions, annotations and servers."""
    return import_module("jaxlib._profiler")


def pprof_profile(profile: str) -> bytes:
    """A profile in the format of the tool `pprof`, from its message `Profile` as JSON."""
    message: bytes = import_module("jaxlib._jax").json_to_pprof_profile(profile)
    return message


def profile_data() -> Any:
    """The module with the classes for profiles."""
    return import_module("jaxlib._profile_data")

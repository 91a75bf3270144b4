"""Joining the other processes, and leaving them."""

import atexit
import errno
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from glassjax import xla
from glassjax.distributed.cluster import detect
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import NOTE
from glassjax.runtime.agreement import Watch, launches, require_same_history
from glassjax.settings.names import counted
from glassjax_stage2.errors import shown
from glassjax_stage3.backend import has_client

# Ports for process 0: reserving one, or checking that a given one is free.


@contextmanager
def reserved_port(host: str = "127.0.0.1") -> Iterator[int]:
    """Reserve a port for process 0: the system gives it to no other program meanwhile.

    A socket that does not listen holds it. On Linux, jaxlib's service can share the port, because
    it binds it by number and reuses addresses. Other systems do not allow that; there the port is
    only known to have been free a moment ago.
    """
    with _bound_socket(host, 0) as holder:
        port: int = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()
        yield port


def require_free(host: str, port: int) -> None:
    """Raise a RuntimeError if the port is taken; jaxlib would share it with another service."""
    hosts = ("::", "0.0.0.0") if host == "::" else (host,)  # IPv6 may be unavailable
    for each in hosts:
        try:
            _bound_socket(each, port).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE and each != hosts[-1]:
                continue
            raise RuntimeError(
                f"distributed.initialize: process 0 cannot serve at {host}, port {port}: "
                f"{error.strerror}. Choose another address or port for it, or end the program that "
                "uses this one"
            ) from None


def _bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to a port, not listening; port 0 means any free one."""
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # ignore connections of a service that has just ended
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(where)
    except OSError:
        found.close()
        raise
    return found


# Exit codes that tell the launcher why a process ended.


# EX_TEMPFAIL of sysexits.h: this process ended because another failed.
ENDED_BY_ANOTHER = 75


# Joining and leaving other processes, and what happens when one of them fails.
#
# A process that fails tells the others why, and they end at once. If a process vanishes, jaxlib
# ends the others after the heartbeat timeout.


_log = logging.getLogger(__name__)


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    *,
    mtls_cert_file: str | None = None,
    mtls_key_file: str | None = None,
    mtls_ca_file: str | None = None,
    mtls_peer_uri_prefix: str | None = None,
    verify_secure_credentials: bool | None = None,
) -> None:
    """Join the other processes of a program. Each calls this before its first array.

    Then `devices()` lists the devices of all processes, and arrays may be sharded over them.
    Missing arguments are taken from the environment set by `glassjax.distributed.launch`, Open MPI,
    Slurm, or an indexed Job of Kubernetes.

    A process that ends by an exception tells the others, and all end with a nonzero exit code. At
    its end, a process waits for the others, as `shutdown` does.

    Arguments:
        coordinator_address: the host and a free port of process 0, `"10.0.0.1:1234"`; or the
            environment variable GLASSJAX_COORDINATOR_ADDRESS.
        num_processes: the number of processes; or GLASSJAX_NUM_PROCESSES.
        process_id: the number of this process, from 0; or GLASSJAX_PROCESS_ID.
        local_device_ids: the numbers of the GPUs of this host that the process uses; or
            GLASSJAX_LOCAL_DEVICE_IDS. By default the GPU whose number is the process's index on its
            host, if a scheduler gives one; otherwise all.
        cluster_detection_method: "ompi", "slurm" or "k8s", to consider only this scheduler;
            "deactivate" for none.
        initialization_timeout: seconds to wait for all processes to join.
        heartbeat_timeout_seconds: seconds without a heartbeat after which a process counts as dead.
        shutdown_timeout_seconds: seconds that a process waits at its end for the others.
        coordinator_bind_address: the address and port on which process 0 serves; or
            GLASSJAX_COORDINATOR_BIND_ADDRESS. By default all addresses of its host, or only
            "127.0.0.1" if that is the coordinator's.
        mtls_cert_file, mtls_key_file, mtls_ca_file: the files of certificate, key and authority for
            mutual TLS, as in jaxlib; None: no TLS.
        mtls_peer_uri_prefix, verify_secure_credentials: how to check the other processes, as in
            jaxlib.

    Raises:
        RuntimeError: it is called twice, or after the first array; the port is taken; process 0
            does not answer in time; jaxlib is too old. If another process does not join in time,
            jaxlib names it, and ends this one.
        ValueError: the number of processes, the number of this process, or the address is unknown
            or invalid.
        TypeError: an argument is of another type.

    >>> distributed.initialize("127.0.0.1:1234", num_processes=2, process_id=0)  # doctest: +SKIP
    """
    if xla.coordination() is not None:
        raise RuntimeError("distributed.initialize was called before; call it once in a process")
    if has_client():
        raise RuntimeError(
            "distributed.initialize must come before the first array and before devices(): "
            "computing has begun with the devices of this process alone"
        )
    timeouts = xla.Timeouts(
        _seconds("initialization_timeout", initialization_timeout),
        _seconds("heartbeat_timeout_seconds", heartbeat_timeout_seconds),
        _seconds("shutdown_timeout_seconds", shutdown_timeout_seconds),
    )
    address = coordinator_address or _variable("COORDINATOR_ADDRESS", accept_jax=True)
    count = _process_number("num_processes", num_processes, "NUM_PROCESSES")
    index = _process_number("process_id", process_id, "PROCESS_ID")
    gpus = _device_ids(local_device_ids)
    if None in (address, count, index) or cluster_detection_method is not None:
        cluster = detect(cluster_detection_method)
        if cluster is not None:
            if address is None:
                port = _variable("COORDINATOR_PORT", accept_jax=True) or cluster.port()
                address = f"{cluster.host(timeouts.initialization)}:{port}"
            count = cluster.process_count() if count is None else count
            index = cluster.process_index() if index is None else index
            if gpus is None and (number := cluster.local_index()) is not None:
                gpus = [number]
    if address is None or count is None or index is None:
        found = {"coordinator_address": address, "num_processes": count, "process_id": index}
        missing = " and ".join(name for name, value in found.items() if value is None)
        raise ValueError(
            f"distributed.initialize: {missing} must be given: this process was not started by "
            "Open MPI, Slurm or Kubernetes, or by `python -m glassjax.distributed.launch -n 2 "
            "program.py`, which tell it"
        )
    if not 0 <= index < count:
        raise ValueError(
            f"distributed.initialize: process_id must be at least 0 and less than num_processes, "
            f"found process_id={index} and num_processes={count}"
        )
    host, port = _host_and_port("coordinator_address", address)
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    bind_address = (
        coordinator_bind_address
        or _variable("COORDINATOR_BIND_ADDRESS", accept_jax=True)
        or (address if is_local else f"[::]:{port}")
    )
    security = {
        "mtls_cert_file": mtls_cert_file,
        "mtls_key_file": mtls_key_file,
        "mtls_ca_file": mtls_ca_file,
        "mtls_peer_uri_prefix": mtls_peer_uri_prefix,
        "verify_secure_credentials": verify_secure_credentials,
    }
    _require_capable_jaxlib()
    if not is_local:
        _warn_of_proxies()
    if index == 0:
        require_free(*_host_and_port("coordinator_bind_address", bind_address))
    else:
        _wait_for_service(host, port, timeouts.initialization, index)
    given = {name: value for name, value in security.items() if value is not None}
    if gpus is not None:
        xla.use_gpus(gpus)
    joined = xla.join_processes(address, bind_address, count, index, timeouts, given)
    _Membership(joined).begin()


def is_initialized() -> bool:
    """Return True if this process has joined others by `initialize`.

    >>> glassjax.distributed.is_initialized()
    False
    """
    return xla.coordination() is not None


def shutdown() -> None:
    """Leave the other processes once all have finished; do nothing if there are none.

    A program need not call this: it happens at the end of the process.

    Raises:
        RuntimeError: another process is not done before the shutdown timeout.

    >>> glassjax.distributed.shutdown()
    """
    if _Membership.current is not None:
        _Membership.current.end()


class _Membership:
    """Membership of this process, from `initialize` to `shutdown`.

    A thread waits for the failure of another process, and then ends this one. An uncaught exception
    is reported to the others.
    """

    current: "_Membership | None" = None

    def __init__(self, joined: xla.Coordination):
        self.joined = joined
        self.excepthook = sys.excepthook
        self.watcher = Thread(target=self.watch, name="glassjax-distributed", daemon=True)

    def begin(self) -> None:
        _Membership.current = self
        sys.excepthook = self.fail
        atexit.register(self.end_at_exit)
        if self.joined.count > 1:
            self.watcher.start()

    def watch(self) -> None:
        """Wait for a message from another process that failed, or from `end`."""
        joined = self.joined
        watch, text = Watch(joined), None
        with suppress(RuntimeError):  # the service is gone; jaxlib reports that
            while text is None:
                text = joined.get(f"wake/{joined.index}", _PAUSE)
                problem = watch.conflict() if text is None else None
                if problem is not None:
                    self.report_failure(problem)
                    _end(problem)
        if text:
            with suppress(RuntimeError):
                joined.set(f"told/{joined.index}", "")
            if joined.index == 0:  # the others need its service to report errors
                time.sleep(0.2)
            _end(f"{text}\nThis is process {joined.index}, which ends, too.", ENDED_BY_ANOTHER)

    def fail(self, kind: type[BaseException], error: BaseException, place: Any) -> None:
        """Print an uncaught exception, tell the other processes, and end this one."""
        self.excepthook(kind, error, place)
        joined = self.joined
        if joined.count == 1 or hasattr(sys, "ps1") or xla.coordination() is not joined:
            return
        with suppress(RuntimeError):
            text = "".join(traceback.format_exception_only(error))
            self.report_failure(text.replace(NOTE, "").strip())
        _end(None, 130 if issubclass(kind, KeyboardInterrupt) else 1)

    def report_failure(self, text: str) -> None:
        """Tell the other processes that this one failed, and wait a moment until they know."""
        joined = self.joined
        text = text[:_LONGEST]
        joined.set(f"failed/{joined.index}", text)
        others = [index for index in range(joined.count) if index != joined.index]
        for index in others:
            joined.set(f"wake/{index}", f"{joined.described(joined.index)} failed: {text}")
        end = time.monotonic() + 1
        while joined.index == 0 and time.monotonic() < end:  # its service ends with it
            if {*others} <= {*joined.process_texts("told")}:
                return
            time.sleep(0.02)

    def end(self) -> None:
        """Wait until all processes have finished, and leave the group."""
        joined = self.joined
        joined.set(f"done/{joined.index}", launches.as_text())
        try:
            joined.wait("shutdown", joined.timeouts.shutdown)
        except RuntimeError as error:
            raise RuntimeError(self.unfinished(error)) from None
        require_same_history(joined)
        _Membership.current = None
        atexit.unregister(self.end_at_exit)
        if sys.excepthook == self.fail:
            sys.excepthook = self.excepthook
        if joined.count > 1:
            joined.set(f"wake/{joined.index}", "")
            self.watcher.join()
        xla.leave()

    def unfinished(self, error: RuntimeError) -> str:
        """The message about processes that did not finish in time."""
        joined = self.joined
        with suppress(RuntimeError):
            done = joined.process_texts("done")
            losses = joined.losses()
            absent = [joined.described(i) for i in range(joined.count) if i not in done]
            if losses or absent:
                return (
                    f"process {joined.index} is done, and waited "
                    f"{counted(joined.timeouts.shutdown, 'second')} for the others in vain. "
                    + "; ".join(losses or [f"{each} is not done" for each in absent])
                    + ". Do all processes run the same steps? Slower ones need a longer "
                    "shutdown_timeout_seconds."
                )
        return f"process {joined.index} is done, and cannot wait for the others: {error}"

    def end_at_exit(self) -> None:
        if xla.coordination() is not self.joined:  # a forked process
            return
        try:
            self.end()
        except RuntimeError as error:
            with suppress(RuntimeError):
                self.report_failure(str(error))
            _end(f"distributed: {error}")


_PAUSE = 1.0  # seconds between checks of a slow launch
_LONGEST = 2000  # characters of a message to other processes


def _end(message: str | None, code: int = 1) -> None:
    """End this process at once, without waiting for anything."""
    with suppress(Exception):
        if message is not None:
            print(message, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


# Arguments, and environment variables in their place.


def _variable(name: str, accept_jax: bool = False) -> str | None:
    prefixes = ("GLASSJAX_", "JAX_") if accept_jax else ("GLASSJAX_",)
    values = (os.environ.get(prefix + name) for prefix in prefixes)
    return next(filter(None, values), None)


def _process_number(role: str, given: Any, variable: str) -> int | None:
    if given is None:
        text = _variable(variable)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise ValueError(
                f"distributed.initialize: the environment variable GLASSJAX_{variable} must be an "
                f"int, found {text!r}"
            ) from None
    require_fit("distributed.initialize", role, given, int | None)
    return int(given)


def _seconds(role: str, given: Any) -> int:
    require_fit("distributed.initialize", role, given, int)
    if given < 1:
        raise ValueError(f"distributed.initialize: {role} must be at least 1, found {given}")
    return int(given)


def _device_ids(given: Any) -> Sequence[int] | None:
    """The numbers of GPUs, given or from the environment."""
    if given is None:
        text = _variable("LOCAL_DEVICE_IDS", accept_jax=True) or ""
        numbers = text.split(",") if text else []
        if not all(each.strip().isdigit() for each in numbers):
            raise ValueError(
                "distributed.initialize: the environment variable GLASSJAX_LOCAL_DEVICE_IDS must "
                f"be numbers with commas between them, found {text!r}"
            )
        return list(map(int, numbers)) or None
    require_fit("distributed.initialize", "local_device_ids", given, int | Sequence[int] | None)
    return [given] if isinstance(given, int) else list(given)


def _host_and_port(role: str, address: Any) -> tuple[str, int]:
    require_fit("distributed.initialize", role, address, str)
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(
            f"distributed.initialize: {role} must be a host and a port, such as '10.0.0.1:1234', "
            f"found {shown(address)}"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


# The service of process 0.


def _require_capable_jaxlib() -> None:
    if not xla.can_read_all_arrays():
        raise RuntimeError(
            "distributed.initialize: this version of jaxlib cannot read arrays that are sharded "
            "over devices; jaxlib 0.11.2 can, on Python 3.12 or newer"
        )


def _wait_for_service(host: str, port: int, seconds: int, index: int) -> None:
    """Wait until process 0 serves."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host, port), timeout=5).close()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise RuntimeError(
                    f"distributed.initialize: process {index} did not reach process 0 at "
                    f"{host}, port {port}, in {counted(seconds, 'second')}: {error}. Has process 0 "
                    "started, and is coordinator_address its address?"
                ) from None
        time.sleep(0.05)


def _warn_of_proxies() -> None:
    names = [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy")]
    if names:
        _log.warning(
            "distributed.initialize: %s may keep processes from reaching each other; unset it if "
            "they do not come together",
            " and ".join(names),
        )


__all__ = ["initialize", "is_initialized", "shutdown"]

"""Profiles of threads and devices (`jax.profiler`)."""

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glassjax.settings.names import list_public_names
from glassjax.xla.clients import client_of
from glassjax.xla.coordination import profile_data, recorder
from glassjax_stage2.errors import shown

# Profiles: timelines of the threads of the process and of the devices.
#
# jaxlib records; viewers that read its files, XProf's and Perfetto's, draw them.


_profiler = recorder()
_classes = profile_data()

ProfileOptions: Any = _profiler.ProfileOptions
ProfileData: Any = _classes.ProfileData
ProfilePlane: Any = _classes.ProfilePlane
ProfileLine: Any = _classes.ProfileLine
ProfileEvent: Any = _classes.ProfileEvent


class TraceAnnotation(_profiler.TraceMe):  # type: ignore[misc, name-defined]
    """A context that profiles show as an event, under a name.

    >>> with glassjax.profiler.TraceAnnotation("loading"):
    ...     data = jnp.arange(3)
    """


class StepTraceAnnotation(TraceAnnotation):
    """A context that profiles show as a step, such as one of training.

    Arguments:
        name: the name of all steps.
        **kwargs: identification of the step, such as `step_num`.

    >>> with glassjax.profiler.StepTraceAnnotation("train", step_num=1):
    ...     loss = jnp.float32(0)
    """

    def __init__(self, name: str, **kwargs: Any):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., Any]:
    """Decorator: profiles show each call of a function as an event.

    Arguments:
        func: the function.
        name: the name of the event; None: the name of the function.
        **decorator_kwargs: more about the event.

    >>> @glassjax.profiler.annotate_function
    ... def load():
    ...     return jnp.arange(3)
    >>> load()
    Array([0, 1, 2], dtype=int32)
    """
    title = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", str(func))

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(title, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


class ProfileSession:
    """A recording, from `start` to `stop`, or a context.

    Arguments:
        log_dir: the directory for the files; None keeps the profile in memory.
        create_perfetto_link: unsupported; use `create_perfetto_trace`.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz`, too, for
            https://ui.perfetto.dev.
        profiler_options: what to record.

    Raises:
        NotImplementedError: a link is asked for.

    >>> with glassjax.profiler.ProfileSession() as session:
    ...     x = jnp.ones(3) + 1
    >>> session.is_running, type(session.profile_data).__name__
    (False, 'ProfileData')
    """

    running: "ProfileSession | None" = None

    def __init__(
        self,
        log_dir: Any = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
    ):
        _refuse_link(create_perfetto_link)
        self._log_dir = log_dir
        self._for_perfetto = create_perfetto_trace
        self._options = profiler_options
        self._session: Any = None
        self._data: Any = None

    @property
    def is_running(self) -> bool:
        """True while it records."""
        return self._session is not None

    @property
    def profile_data(self) -> Any:
        """The profile, a `ProfileData`; None before the end."""
        return self._data

    def start(self) -> "ProfileSession":
        """Begin to record.

        Raises:
            RuntimeError: something else is being recorded.
        """
        if ProfileSession.running is not None:
            raise RuntimeError(
                "Profile has already been started. Only one profile may be run at a time: end the "
                "other by stop_trace() or its stop()."
            )
        client_of(None)  # the client starts the devices' part of the profiler
        self._session = _profiler.ProfilerSession(self._options or ProfileOptions())
        ProfileSession.running = self
        return self

    def stop(self) -> Any:
        """End the recording, and return the profile; write it if there is a directory.

        Raises:
            RuntimeError: nothing is being recorded.
        """
        if self._session is None:
            raise RuntimeError("No profile started")
        session, self._session, ProfileSession.running = self._session, None, None
        recorded = session.stop()
        self._data = ProfileData.from_serialized_xspace(recorded)
        if self._log_dir is not None:
            session.export(recorded, str(self._log_dir))
            if self._for_perfetto:
                _write_for_perfetto(self._log_dir)
        return self._data

    def export_profile_data(
        self,
        log_dir: Any,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Write the profile, as the function of this name does."""
        export_profile_data(self, log_dir, create_perfetto_link, create_perfetto_trace, session_id)

    def __enter__(self) -> "ProfileSession":
        return self.start()

    def __exit__(self, *exception: object) -> None:
        if self.is_running:
            self.stop()


def export_profile_data(
    profile_data: Any,
    log_dir: Any,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    session_id: str | None = None,
) -> None:
    """Write a profile to `log_dir/plugins/profile/`, in a directory of its own.

    Arguments:
        profile_data: a `ProfileData`, or a `ProfileSession` that has ended.
        log_dir: the directory.
        create_perfetto_link: unsupported; use `create_perfetto_trace`.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz`, too.
        session_id: the name of the directory of its own; by default the time.

    Raises:
        NotImplementedError: a link is asked for, or jaxlib is older than 0.11.
        ValueError: the session has not ended.
    """
    _refuse_link(create_perfetto_link)
    data = profile_data.profile_data if isinstance(profile_data, ProfileSession) else profile_data
    if data is None:
        raise ValueError("export_profile_data: the session has not ended; call its stop() first")
    if not hasattr(_profiler, "export_to_xprof"):
        raise NotImplementedError(
            "export_profile_data: this jaxlib cannot write a profile later on; give log_dir to the "
            "session, or to trace, or install jaxlib 0.11 or newer"
        )
    _profiler.export_to_xprof(data, str(log_dir), session_id or "")
    if create_perfetto_trace:
        _write_for_perfetto(log_dir)


def _write_for_perfetto(log_dir: Any) -> None:
    written = Path(log_dir).glob("plugins/profile/*/*.trace.json.gz")
    newest = max(written, key=lambda path: path.stat().st_mtime_ns)
    shutil.copyfile(newest, newest.with_name("perfetto_trace.json.gz"))


def _refuse_link(create_perfetto_link: bool) -> None:
    if create_perfetto_link:
        raise NotImplementedError(
            "create_perfetto_link is unsupported: write a file by create_perfetto_trace=True, and "
            "open it at https://ui.perfetto.dev"
        )


def start_trace(
    log_dir: Any,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> ProfileSession:
    """Begin to record a profile, which `stop_trace` ends.

    Arguments:
        log_dir: the directory for the files.
        create_perfetto_link: unsupported; use `create_perfetto_trace`.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz`, too.
        profiler_options: what to record.

    Raises:
        RuntimeError: something else is being recorded.
        NotImplementedError: a link is asked for.
    """
    return ProfileSession(
        log_dir, create_perfetto_link, create_perfetto_trace, profiler_options
    ).start()


def stop_trace() -> Any:
    """End the recording that `start_trace` began, write it, and return the `ProfileData`.

    Raises:
        RuntimeError: nothing is being recorded.
    """
    if ProfileSession.running is None:
        raise RuntimeError("No profile started")
    return ProfileSession.running.stop()


@contextmanager
def trace(
    log_dir: Any = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[ProfileSession]:
    """A context that records a profile.

    Arguments:
        log_dir: the directory for the files; None keeps the profile in memory.
        create_perfetto_link: unsupported; use `create_perfetto_trace`.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz`, too.
        profiler_options: what to record.

    Raises:
        RuntimeError: something else is being recorded.
        NotImplementedError: a link is asked for.

    >>> with glassjax.profiler.trace() as session:
    ...     x = jnp.ones(3) + 1
    >>> [plane.name for plane in session.profile_data.planes][-1:] != []
    True
    """
    with ProfileSession(
        log_dir, create_perfetto_link, create_perfetto_trace, profiler_options
    ) as session:
        yield session


_servers: list[Any] = []


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start a server of profiles, which viewers can ask for one while the program runs.

    Arguments:
        port: the port of the server.
        requires_backend: whether to make the client of the devices first.

    Raises:
        ValueError: there is a server already.
    """
    if _servers:
        raise ValueError("Only one profiler server can be active at a time.")
    if requires_backend:
        client_of(None)
    _servers.append(_profiler.start_server(port))
    return _servers[0]


def stop_server() -> None:
    """Stop the server of profiles.

    Raises:
        ValueError: there is none.
    """
    if not _servers:
        raise ValueError("No active profiler server.")
    _servers.clear()


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Record a child process with this one.

    Arguments:
        pid: the child process.
        port: the port of its profiler server.

    Returns:
        A function that ends that.

    Raises:
        RuntimeError: the server does not answer, or is registered.
    """
    end: Callable[[], None] = _profiler.register_subprocess(pid, port)
    return end


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays and programs in device memory, for the viewer `pprof`.

    Arguments:
        backend: the platform; the default one if None.

    Raises:
        PlatformError: there is no such platform.

    >>> type(glassjax.profiler.device_memory_profile())
    <class 'bytes'>
    """
    profile: bytes = client_of(backend).heap_profile()
    return profile


def save_device_memory_profile(filename: Any, backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file.

    Arguments:
        filename: the file.
        backend: the platform; the default one if None.

    Raises:
        PlatformError: there is no such platform.
        TypeError: `filename` is not a path.
    """
    if not isinstance(filename, str | Path):
        raise TypeError(f"save_device_memory_profile: expected a path, found {shown(filename)}")
    Path(filename).write_bytes(device_memory_profile(backend))


def get_profiled_instructions_proto(tensorboard_dir: str | os.PathLike[str]) -> bytes:
    """The costs of instructions in a profile, for the latency-hiding scheduler of XLA.

    Arguments:
        tensorboard_dir: the directory of one profile, `DIR/plugins/profile/TIME`, where DIR was
            given to `glassjax.profiler.start_trace`.

    Returns:
        A serialized message `ProfiledInstructionsProto` of XLA. It is empty if the profile has no
        devices other than a CPU.

    Raises:
        RuntimeError: there is no profile in the directory.

    >>> import tempfile, pathlib
    >>> from glassjax.experimental import profiler
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with glassjax.profiler.trace(directory):
    ...         _ = jnp.ones(3) + 1
    ...     (run,) = pathlib.Path(directory, "plugins", "profile").iterdir()
    ...     profiler.get_profiled_instructions_proto(run)
    b''
    """
    found: bytes = recorder().get_profiled_instructions_proto(os.fspath(tensorboard_dir))
    return found


__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileLine",
    "ProfileOptions",
    "ProfilePlane",
    "ProfileSession",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "export_profile_data",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
list_public_names(globals())

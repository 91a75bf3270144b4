"""The directory of checkpoints: one subdirectory for each step, which appears when it is complete.

A checkpoint is written under a hidden name, and gets its own by a rename. It loses it by a rename,
too, before it is deleted. So whatever kills the process, a step that can be seen is complete.
"""

import operator
import os
import re
import shutil
import socket
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from minijax import xla
from minijax.errors.argument_errors import require_fit
from minijax_stage2.errors import shown

MANIFEST = "manifest.json"
_HIDDEN = re.compile(
    r"\.\d+\.[0-9a-f]{8}(?:-(?P<life>[0-9a-f]{8})-(?P<pid>\d+)-(?P<host>.*))?\.(incomplete|removed)"
)
_LIFE = uuid.uuid4().hex[:8]  # of this process, whose number another one may have had
_SECONDS_OF_A_DAY = 24 * 60 * 60


def all_steps(directory: str | os.PathLike[str]) -> list[int]:
    """The steps of which there is a complete checkpoint, in ascending order.

    Arguments:
        directory: the directory of the checkpoints; it need not exist.

    Raises:
        TypeError: `directory` is not a path.
        ValueError: it is a URL.

    >>> all_steps("no/such/directory")
    []
    """
    found = directory_of("all_steps", directory)
    return sorted(int(each.parent.name) for each in found.glob(f"*/{MANIFEST}") if _is_step(each))


def _is_step(manifest: Path) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]*", manifest.parent.name) is not None


def latest_step(directory: str | os.PathLike[str]) -> int | None:
    """The last step of which there is a complete checkpoint; None if there is none.

    Arguments:
        directory: the directory of the checkpoints; it need not exist.

    Raises:
        TypeError: `directory` is not a path.
        ValueError: it is a URL.

    >>> latest_step("no/such/directory") is None
    True
    """
    return max(all_steps(directory), default=None)


def remove(directory: str | os.PathLike[str], step: int) -> None:
    """Delete the checkpoint of a step.

    Arguments:
        directory: the directory of the checkpoints.
        step: the step.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        TypeError: an argument is of another type.

    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> minijax.checkpoints.save(directory, 1, jnp.arange(3)).wait()
    >>> remove(directory, 1)
    >>> all_steps(directory)
    []
    """
    path = directory_of("remove", directory) / str(step_of("remove", step))
    hidden = _hidden(path, "removed")
    try:
        path.rename(hidden)
    except FileNotFoundError:
        raise FileNotFoundError(f"remove: there is no {path}; {described(path.parent)}") from None
    flush(path.parent)
    shutil.rmtree(hidden)


def directory_of(caller: str, directory: Any) -> Path:
    """The path of a directory of checkpoints.

    Raises:
        TypeError: it is not a path.
        ValueError: it is a URL.
    """
    require_fit(caller, "directory", directory, str | os.PathLike)
    if "://" in str(directory):
        raise ValueError(
            f"{caller}: directory must be a path in a file system, found {shown(directory)}: "
            "a checkpoint becomes complete by a rename, which object stores do not have"
        )
    return Path(directory).expanduser().absolute()


def step_of(caller: str, step: Any) -> int:
    """A step as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is negative.
    """
    try:
        number = operator.index(step)
    except TypeError:
        raise TypeError(
            f"{caller}: step must be an int, found {shown(step)} of type {type(step).__name__}"
        ) from None
    if number < 0:
        raise ValueError(f"{caller}: step must be at least 0, found {number}")
    return number


def described(directory: Path) -> str:
    """A clause that lists the complete checkpoints."""
    steps = all_steps(directory)
    if not steps:
        return f"{directory} has no complete checkpoint"
    return f"{directory} has complete checkpoints of the steps {shown(steps)}"


def new_directory(path: Path) -> Path:
    """A new directory for the checkpoint that is to be at `path`; it has another name until then.

    Deletes what was left behind by processes that were killed, but not what others still write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in path.parent.iterdir():
        found = _HIDDEN.fullmatch(each.name)
        if found and not _is_in_use(each, found):
            shutil.rmtree(each, ignore_errors=True)  # another saver may be faster
    hidden = _hidden(path, "incomplete")
    hidden.mkdir()
    return hidden


def _hidden(path: Path, why: str) -> Path:
    owner = f"{_LIFE}-{os.getpid()}-{socket.gethostname()}"
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}-{owner}.{why}")


def _is_in_use(hidden: Path, name: "re.Match[str]") -> bool:
    """Return True if the process that made a hidden directory may still be at it.

    Of another host that is not known; what was not touched for a day counts as left behind.
    """
    if name["pid"] is None:  # as earlier versions named it
        return False
    pid = int(name["pid"])
    if name["host"] == socket.gethostname():
        if pid == os.getpid():  # which another one may have had before
            return name["life"] == _LIFE
        if not xla.process_runs(pid):
            return False
    with suppress(FileNotFoundError):
        return time.time() - hidden.stat().st_mtime < _SECONDS_OF_A_DAY
    return False


def complete(hidden: Path, path: Path, manifest: str) -> None:
    """Write the manifest of a checkpoint, whose arrays are there, and give it its name."""
    with open(hidden / MANIFEST, "w", encoding="utf-8") as file:
        file.write(manifest)
        file.flush()
        os.fsync(file.fileno())
    flush(hidden)
    hidden.rename(path)
    flush(path.parent)


def flush(directory: Path) -> None:
    """Make the names in a directory outlive a loss of power."""
    if os.name == "posix":  # elsewhere directories cannot be opened
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


__all__ = ["all_steps", "latest_step", "remove"]

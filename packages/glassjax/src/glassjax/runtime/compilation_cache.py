"""The compile cache on disk: programs compiled in one process are loaded by the next.

Loading takes a fraction of the time of compiling. A file holds one program; its name is a hash of
everything that affects the compiled code. A failure here must not stop a program that would run
without the cache: an unreadable entry is compiled again, an unwritable one is not stored.

A file holds machine code, so anyone who can write to the directory can do whatever you can. So a
directory that belongs to another user, or that others may write to, is not used.
"""

import contextlib
import functools
import itertools
import os
import platform
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

from glassjax import xla
from glassjax.monitoring import CACHE_HIT, CACHE_MISS, CACHE_USED, record_event
from glassjax.settings.config import config
from glassjax.settings.options import flags_of_results
from glassjax.xla.clients import Options
from glassjax_stage3.backend import Device, Executable

_FORMAT = b"glassjax compiled program 1\n"
_SUFFIX = ".glassjax"
_DIGEST_SIZE = 32

# A location at the end of a line, as lowering writes it. A location inside a string would have the
# string's quotation mark after it, so no more is matched than what is meant. A name in front of the
# location is kept, since the loaded program shows it.
_LOCATION = re.compile(r' loc\((?:unknown|(?:("[^"\n]*")\()?"[^"\n]*":\d+:\d+\)?)\)$', re.MULTILINE)

# Programs loaded from disk, which XLA cannot serialize again.
loaded_executables: "WeakSet[Executable]" = WeakSet()

_warned: set[str] = set()  # directories with a problem that was reported
_sizes: dict[str, int] = {}  # directory -> bytes in it when last counted, and written since


Compiled = TypeVar("Compiled", bound=Executable)


def load_or_keep(
    text: str,
    options: Options,
    devices: Sequence[Device],
    compile: Callable[[], Compiled],
    load: Callable[[bytes], Compiled],
) -> Compiled:
    """The program from the cache, or compiled and stored there."""
    directory = _directory()
    if directory is None or not _is_cacheable(text, options):
        return compile()
    key = cache_key(text, options, devices)
    file = os.path.join(directory, key + _SUFFIX)
    data = _read(file, key)
    if data is not None:
        with contextlib.suppress(RuntimeError):  # then the entry is replaced
            loaded = load(data)
            loaded_executables.add(loaded)
            _log_event("hit", CACHE_HIT, text, file)
            return loaded
    _log_event("miss", CACHE_MISS, text, file)
    start = time.perf_counter()
    compiled = compile()
    if time.perf_counter() - start >= config.persistent_cache_min_compile_time_secs:
        with contextlib.suppress(RuntimeError):  # a program that XLA cannot write down
            written = xla.serialize(compiled, with_functions=True)
            if len(written) >= config.persistent_cache_min_entry_size_bytes:
                _write_entry(directory, file, key, written)
    return compiled


# --8<-- [start:key]
def cache_key(text: str, options: Mapping[str, Any], devices: Sequence[Device] = ()) -> str:
    """A hash of everything that affects the result of compiling a program.

    Source locations are left out: they change with every line inserted above, and do not affect the
    result. The order of a partitioned program's devices matters.
    """
    import hashlib  # late: importing it takes milliseconds

    numbers = " ".join([str(device.id) for device in devices])
    machine = (
        *xla.fingerprint(devices),
        numbers,
        xla.xla_flags(),
        *_machine(),
        *xla.transformations(),
    )
    flags = {**flags_of_results(), **options}
    parts = (*machine, repr(sorted(flags.items())), _LOCATION.sub(r"\1", text))
    hashed = hashlib.sha256(_FORMAT)
    for part in parts:
        encoded = part.encode(errors="surrogateescape")
        hashed.update(b"%d:" % len(encoded))  # so that no two lists of parts look the same
        hashed.update(encoded)
    return hashed.hexdigest()


# --8<-- [end:key]


@functools.cache
def _machine() -> tuple[str, ...]:
    """The kind of processor, and the number of threads that this process uses."""
    uname = platform.uname()
    try:
        threads = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this operating system
        threads = os.cpu_count() or 1
    # XLA compiles for this number of threads, or the one in these variables.
    chosen = os.environ.get("PJRT_NPROC"), os.environ.get("NPROC")
    names = ("vendor", "model", "stepping", "flags", "Features", "CPU ")
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first_processor = itertools.takewhile(str.strip, file)
            processor = [line for line in first_processor if line.startswith(names)]
    except OSError:  # not on this operating system: let each machine have its own entries
        processor = [uname.node]
    return (uname.system, uname.machine, f"{threads} {chosen}", *processor)


def _is_cacheable(text: str, options: Options) -> bool:
    """Return True if compiling has no effects besides its result."""
    flags = xla.xla_flags()
    writes_files = "xla_dump" in flags or any("xla_dump" in name for name in options)
    # XLA_FLAGS may be the name of a file of flags, and the key would not notice a change in it.
    flags_in_file = bool(flags.strip()) and not flags.strip().startswith("-")
    return not (writes_files or flags_in_file)


def _directory() -> str | None:
    """The directory of the cache, created if missing; None if it should not be used."""
    directory: str | None = config.compilation_cache_dir
    if not config.enable_compilation_cache or not directory:
        return None
    if "://" in directory:
        _warn(directory, "is not used: it must be a directory, and is a URL")
        return None
    directory = os.path.expanduser(directory)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        is_private = _is_private(os.stat(directory))
    except (OSError, RecursionError, ValueError) as error:  # too many levels; a null character
        _warn_unless_default(directory, f"cannot be used ({error})")
        return None
    if not is_private:
        _warn(
            directory,
            "is not used: it belongs to another user, or others may write to it, and what is in "
            "it would be run. Make it your own (`chown`, `chmod go-w`), or choose another one by "
            "the environment variable GLASSJAX_COMPILATION_CACHE_DIR",
        )
        return None
    return directory


def _is_private(status: os.stat_result) -> bool:
    """Return True if no other user can write to a file or directory."""
    if os.name == "nt":  # no such bits on Windows, where a user's directories are private
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _read(file: str, key: str) -> bytes | None:
    """Read the entry of this key; None if it is missing or damaged."""
    import zlib

    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(file, flags), "rb") as entry:  # nonblocking, in case it is a pipe
            status = os.fstat(entry.fileno())
            if not (stat.S_ISREG(status.st_mode) and _is_private(status)):
                return None
            content = entry.read()
    except OSError:
        return None
    packed = content[len(_FORMAT) + _DIGEST_SIZE :]
    if not packed or not content.startswith(_FORMAT + _digest(key, packed)):
        return None
    with contextlib.suppress(OSError):  # in a read-only directory, nothing is deleted either
        os.utime(file)  # the least recently used is deleted first
    try:
        return zlib.decompress(packed)
    except zlib.error:
        return None


def _write_entry(directory: str, file: str, key: str, data: bytes) -> None:
    """Write an entry atomically, even with concurrent readers and writers."""
    import zlib

    packed = zlib.compress(data, level=1)
    content = _FORMAT + _digest(key, packed) + packed
    # The suffix lets `_make_room` find and delete what a process that was killed left behind.
    temporary = f"{file[: -len(_SUFFIX)]}-{os.urandom(8).hex()}{_SUFFIX}"
    try:
        if not _make_room(directory, len(content)):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(temporary, flags, mode=0o600), "wb") as entry:
                entry.write(content)
            os.replace(temporary, file)
        except BaseException:
            _remove(temporary)
            raise
    except FileNotFoundError:  # another process is emptying the directory
        pass
    except OSError as error:
        if not os.path.exists(file):  # otherwise another process was faster
            _warn_unless_default(directory, f"cannot be written to ({error})")


def _digest(key: str, packed: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(key.encode() + packed).digest()


def _make_room(directory: str, needed: int) -> bool:
    """Delete the least recently used entries if space runs out; return whether there is enough now.

    The directory is scanned when a process first writes to it, and when it seems full. A tenth is
    then left free, so that the next scan is not due at once.
    """
    limit: int = config.compilation_cache_max_size
    if limit < 0:
        return True
    if needed > limit:
        return False
    # `limit` if never counted: the directory counts as full, so that it is scanned now.
    total = _sizes.get(directory, limit) + needed
    if total > limit:
        entries = _entries(directory)
        total = sum(size for _, size, _ in entries) + needed
        if total > limit:
            for _, size, file in sorted(entries):
                _remove(file)
                total -= size
                if total <= max(needed, 0.9 * limit):
                    break
    _sizes[directory] = total
    return True


def _entries(directory: str) -> list[tuple[float, int, str]]:
    """List the files of the cache: time of last use, size, and path."""
    found = []
    with os.scandir(directory) as files:
        for file in files:
            if file.name.endswith(_SUFFIX):
                try:
                    status = file.stat(follow_symlinks=False)
                except OSError:  # another process has deleted it
                    continue
                found.append((status.st_mtime, status.st_size, file.path))
    return found


def _remove(file: str) -> None:
    with contextlib.suppress(OSError):  # another process has done so, or has it open
        os.remove(file)


def _warn(directory: str, problem: str) -> None:
    if directory not in _warned:
        _warned.add(directory)
        warnings.warn(f"glassjax's compile cache {directory!r} {problem}.", stacklevel=2)


def _warn_unless_default(directory: str, problem: str) -> None:
    """Warn unless it is the default directory: without that one, programs only start later."""
    if directory != config.option("compilation_cache_dir").default:
        _warn(directory, problem)


def _log_event(event: str, recorded: str, text: str, file: str) -> None:
    record_event(CACHE_USED)
    record_event(recorded)
    if logging := sys.modules.get("logging"):  # otherwise no handler wants messages for debugging
        logger = logging.getLogger("glassjax.compilation_cache")
        logger.debug("%s: %s, %s", event, _name_of(text), file)


def _name_of(text: str) -> str:
    return text[:100].partition("{")[0].strip()


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Keep compiled programs in the directory `path` from now on; None: nowhere."""
    config.update("compilation_cache_dir", path)


def reset_cache() -> None:
    """Forget the state of directories, as in a fresh process. No file is deleted."""
    _warned.clear()
    _sizes.clear()

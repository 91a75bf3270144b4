"""How much memory this process holds: asked for in the fresh processes of `memory.py`."""

from pathlib import Path

from benchmarks.measure import Skip

_STATUS = Path("/proc/self/status")


def current() -> int:
    """Bytes in memory now."""
    return _bytes("VmRSS")


def peak() -> int:
    """Bytes in memory at most so far. (`getrusage` would begin with what the parent held.)"""
    return _bytes("VmHWM")


def require_status() -> None:
    """Raises `Skip` where the system does not tell."""
    if not _STATUS.exists():
        raise Skip(f"memory is read from {_STATUS}, which only Linux has")


def _bytes(field: str) -> int:
    kilobytes = _STATUS.read_text().partition(f"{field}:")[2].split()[0]
    return 1024 * int(kilobytes)

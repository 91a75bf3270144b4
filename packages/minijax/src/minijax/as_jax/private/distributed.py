"""This process among those of `distributed.initialize`."""

from typing import Any

from minijax import process_count, process_index
from minijax.xla.coordination import coordination


class State:
    """The number of this process, and the service through which processes agree."""

    @property
    def process_id(self) -> int:
        return process_index()

    @property
    def num_processes(self) -> int:
        return process_count()

    @property
    def client(self) -> Any:
        return coordination()


global_state = State()

__all__ = ["State", "global_state"]

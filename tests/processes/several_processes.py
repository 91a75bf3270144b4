"""Programs in several processes on this machine, each with its number in the environment."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

BEGIN = """
import os, signal, sys, time
import numpy as np
import minijax
import minijax.numpy as jnp
from minijax import NamedSharding, P

minijax.distributed.initialize(
    initialization_timeout=int(os.environ.get("INITIALIZATION", 20)),
    heartbeat_timeout_seconds=3,
    shutdown_timeout_seconds=3,
)
rank, count = minijax.process_index(), minijax.process_count()
"""


@dataclass
class Done:
    """A process that has ended: its exit code, what it wrote, and when it ended, in seconds."""

    code: int
    out: str
    err: str
    seconds: float


def free_port():
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        return attempt.getsockname()[1]


def environment(**variables):
    """The environment without what makes this process one with several devices."""
    names = ("MINIJAX_NUM_CPU_DEVICES", "XLA_FLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "PYTHONUNBUFFERED": "1", **variables}


class Processes:
    """Starts processes that run a program, each with its number in the environment."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []

    def program(self, source, begin=BEGIN):
        path = self.directory / f"program_{len(list(self.directory.iterdir()))}.py"
        path.write_text(begin + textwrap.dedent(source), encoding="utf-8")
        return path

    def start(self, source, indices=(0, 1), count=2, begin=BEGIN, port=None, **variables):
        path, port = self.program(source, begin), port or free_port()
        for index in indices:
            found = environment(
                MINIJAX_COORDINATOR_ADDRESS=f"127.0.0.1:{port}",
                MINIJAX_NUM_PROCESSES=str(count),
                MINIJAX_PROCESS_ID=str(index),
                **variables,
            )
            process = subprocess.Popen(
                [sys.executable, path],
                env=found,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.running.append(process)
        return self.running

    def wait(self, timeout=30):
        """What each of the running processes did; none of them takes longer than the timeout."""
        begin, done = time.monotonic(), []
        for process in self.running:
            left = max(0.1, timeout - (time.monotonic() - begin))
            out, err = process.communicate(timeout=left)
            done.append(Done(process.returncode, out, err, time.monotonic() - begin))
        self.running = []
        return done

    def run(self, source, timeout=30, **options):
        self.start(source, **options)
        return self.wait(timeout)

    def results(self, source, **options):
        """What each process printed, by `print(...)`, if all ended well."""
        done = self.run(source, **options)
        for each in done:
            assert each.code == 0, each.err
        return [[line for line in each.out.splitlines() if "[Gloo]" not in line] for each in done]

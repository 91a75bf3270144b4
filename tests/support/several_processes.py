"""Programs in several processes on this machine, each with its rank in the environment."""

import os
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack
from dataclasses import dataclass

from glassjax.distributed.runtime import reserved_port

BEGIN = """
import faulthandler, os, signal, sys, time
import numpy as np
import glassjax
import glassjax.numpy as jnp
from glassjax import NamedSharding, P

faulthandler.dump_traceback_later(100)  # of a process that hangs
glassjax.distributed.initialize(
    initialization_timeout=int(os.environ.get("INITIALIZATION", 100)),
    heartbeat_timeout_seconds=int(os.environ.get("HEARTBEAT", 100)),
    shutdown_timeout_seconds=int(os.environ.get("SHUTDOWN", 100)),
)
rank, count = glassjax.process_index(), glassjax.process_count()
"""


# Programs print to a file: Gloo writes to stdout, too, in the middle of lines.
PRINT_TO_FILE = """
import functools, os
print = functools.partial(print, file=open(os.environ["PRINT_TO"], "w", buffering=1))
"""

# The beginning of a program that runs with both libraries; what it prints is compared.
BEGIN_OF_BOTH = """
import faulthandler
import os
import numpy as np
import {lib} as lib
import {lib}.numpy as jnp

faulthandler.dump_traceback_later(100)  # of a process that hangs
lib.distributed.initialize(
    os.environ["GLASSJAX_COORDINATOR_ADDRESS"],
    int(os.environ["GLASSJAX_NUM_PROCESSES"]),
    int(os.environ["GLASSJAX_PROCESS_ID"]),
    initialization_timeout=100,
)
NamedSharding, P = lib.sharding.NamedSharding, lib.sharding.PartitionSpec
rank, count = lib.process_index(), lib.process_count()
X = np.arange(64, dtype=np.float32).reshape(8, 8) / 7


def mesh(*shape, names="xy"):
    devices = np.array(lib.devices()).reshape(shape)
    return lib.sharding.Mesh(devices, tuple(names[: len(shape)]))


def put(*spec, x=X, shape=(2, 2)):
    return lib.device_put(x, NamedSharding(mesh(*shape), P(*spec)))


def show(name, x):
    if isinstance(x, lib.Array):
        spec = getattr(x.sharding, "spec", None)
        facts = [x.dtype, x.shape, x.is_fully_addressable, x.is_fully_replicated, x.committed]
        parts = sorted(x.addressable_shards, key=lambda shard: shard.device.id)
        print(name, spec, *facts)
        for shard in parts:
            index = [(each.start, each.stop) for each in shard.index]
            print(" ", shard.device.id, index, shard.replica_id, np.asarray(shard.data).tolist())
        if x.is_fully_replicated:
            print("  whole", np.asarray(x).tolist())
    else:
        print(name, x)


def attempt(name, function):
    try:
        show(name, function())
    except Exception as error:
        print(name, "is refused:", isinstance(error, (RuntimeError, ValueError, BufferError)))
"""


# What a process that hangs costs, and no other: starting takes seconds, and a busy machine longer.
PATIENCE = 200


@dataclass
class Done:
    """A process that has ended: its exit code, and what it wrote."""

    code: int
    printed: str
    out: str
    err: str


def environment(**variables):
    """The environment without what makes this process one with several devices."""
    names = ("GLASSJAX_NUM_CPU_DEVICES", "XLA_FLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**FAST, **kept, **variables}


FAST = {
    "PYTHONUNBUFFERED": "1",
    "GLASSJAX_DISABLE_MOST_OPTIMIZATIONS": "true",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "true",
}


class Processes:
    """Starts processes that run a program, each with its number in the environment."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []
        self.ports = ExitStack()

    def program(self, source, begin=BEGIN):
        path = self.directory / f"program_{len(list(self.directory.iterdir()))}.py"
        path.write_text(begin + textwrap.dedent(source), encoding="utf-8")
        return path

    def start(
        self, source, indices=(0, 1), count=2, begin=BEGIN, port=None, stdin=None, **variables
    ):
        path = self.program(source, PRINT_TO_FILE + begin)
        port = port or self.ports.enter_context(reserved_port())
        for index in indices:
            files = [path.with_suffix(f".{index}.{kind}") for kind in ("printed", "out", "err")]
            files[0].touch()
            found = environment(
                PRINT_TO=str(files[0]),
                GLASSJAX_COORDINATOR_ADDRESS=f"127.0.0.1:{port}",
                GLASSJAX_NUM_PROCESSES=str(count),
                GLASSJAX_PROCESS_ID=str(index),
                **variables,
            )
            with open(files[1], "w") as out, open(files[2], "w") as err:
                process = subprocess.Popen(
                    [sys.executable, path], env=found, stdin=stdin, stdout=out, stderr=err
                )
            process.written_to = files  # not pipes, which would fill up while another one is read
            self.running.append(process)
        return self.running

    def await_line(self, line):
        """Wait until one of the running processes has printed a line."""
        end = time.monotonic() + PATIENCE
        while not any(line in each.written_to[0].read_text().split() for each in self.running):
            assert all(each.poll() is None for each in self.running)
            assert time.monotonic() < end
            time.sleep(0.02)

    def wait(self):
        """What each of the running processes did."""
        end, done = time.monotonic() + PATIENCE, []
        for process in self.running:
            process.wait(timeout=max(0.1, end - time.monotonic()))
            texts = [path.read_text(encoding="utf-8") for path in process.written_to]
            done.append(Done(process.returncode, *texts))
        self.running = []
        return done

    def run(self, source, **options):
        self.start(source, **options)
        return self.wait()

    def close(self):
        """End the processes that are still running."""
        for process in self.running:
            process.kill()
            process.communicate()
        self.ports.close()

    def results(self, source, **options):
        """What each process printed, by `print(...)`, if all ended well."""
        done = self.run(source, **options)
        assert [each.code for each in done] == [0] * len(done), "\n".join(each.err for each in done)
        return [each.printed.splitlines() for each in done]


TWO_DEVICES = {
    "GLASSJAX_NUM_CPU_DEVICES": "2",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
}


def joined(programs):
    """Programs one after another, each of which first prints its name."""
    return "".join(f"print('# {name}')\n{textwrap.dedent(programs[name])}\n" for name in programs)


def parts(printed):
    """What each of joined programs printed, by name."""
    found = {}
    for line in printed:
        if line.startswith("# "):
            found[line[2:]] = []
        else:
            found[[*found][-1]].append(line)
    return found

"""Several processes find each other, share their devices, and end together."""

import sys


def test_processes_share_their_devices(processes):
    program = """
    assert minijax.distributed.is_initialized()
    print(rank, count, minijax.process_indices())
    print([device.id for device in minijax.devices()])
    print([device.id for device in minijax.local_devices()])
    print([device.id for device in minijax.local_devices(1)], minijax.local_device_count())
    try:
        minijax.local_devices(2)
    except ValueError as error:
        print(error)
    x = jnp.arange(3.0)
    print(minijax.jit(lambda x: x + rank)(x), [device.id for device in x.devices()])
    """
    zero, one = processes.results(program, MINIJAX_NUM_CPU_DEVICES="2")
    assert zero == [
        "0 2 [0, 1]",
        "[0, 1, 2048, 2049]",
        "[0, 1]",
        "[2048, 2049] 2",
        "local_devices: process_index must be one of [0, 1], found 2",
        "[0. 1. 2.] [0]",
    ]
    assert one[0] == "1 2 [0, 1]"
    assert one[2] == "[2048, 2049]"
    assert one[-1] == "[1. 2. 3.] [2048]"


def test_computing_goes_on_after_shutdown(processes):
    program = """
    x = jnp.ones(2)
    minijax.distributed.shutdown()
    print(minijax.distributed.is_initialized(), x + rank)
    """
    assert processes.results(program) == [["False [1. 1.]"], ["False [2. 2.]"]]


def test_without_arrays_a_process_is_alone_after_shutdown(processes):
    begin = """
import minijax
minijax.distributed.initialize()
minijax.distributed.shutdown()
minijax.distributed.shutdown()
print(minijax.process_count(), minijax.numpy.ones(1))
"""
    assert processes.results("", begin=begin) == [["1 [1.]"]] * 2


def test_a_single_process_may_join_itself(processes):
    program = "print(rank, count, jnp.ones(1) + 1)"
    assert processes.results(program, indices=(0,), count=1) == [["0 1 [2.]"]]


def test_joining_twice_or_late_is_refused(processes):
    program = """
    try:
        minijax.distributed.initialize()
    except RuntimeError as error:
        print(error)
    minijax.distributed.shutdown()
    try:
        minijax.distributed.initialize()
    except RuntimeError as error:
        print(error)
    """
    for out in processes.results(program):
        assert "called before" in out[0]
        assert "before the first array" in out[1]


def test_exit_codes_are_the_programs_own(processes):
    zero, one = processes.run("sys.exit(4 * rank)")
    assert (zero.code, one.code) == (0, 4)


def test_a_fork_is_alone(processes):
    program = """
    if os.fork() == 0:
        assert not minijax.distributed.is_initialized()
        sys.exit()
    print(os.wait()[1])
    """
    begin = "import minijax, os, sys\nminijax.distributed.initialize()\n"
    assert sys.platform == "win32" or processes.results(program, begin=begin) == [["0"], ["0"]]


def test_compiled_programs_are_cached_for_all_processes(processes, tmp_path):
    program = """
    print(minijax.jit(lambda x: jnp.sin(x).sum())(jnp.arange(5.0)))
    """
    variables = {
        "MINIJAX_ENABLE_COMPILATION_CACHE": "true",
        "MINIJAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
    }
    alone = processes.results(program, indices=(0,), count=1, **variables)
    assert processes.results(program, **variables) == alone * 2

"""Checkpoints: restored values equal saved ones, or an error says why not."""

import os
import random as python_random
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest
from rows import for_each

import glassjax
from glassjax import numpy as jnp
from glassjax import random

pytest.importorskip("tensorstore")

from glassjax import checkpoints

Pair = namedtuple("Pair", "left right")

NUMBERS = [0, 1, -2, 0.5, float("inf"), float("-inf"), float("nan"), -0.0]
DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128"
)
NARROW = "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz"


def numbers_of(dtype):
    with np.errstate(all="ignore"):
        return np.array(NUMBERS).astype(np.float64).astype(dtype).reshape(2, 4)


def save(directory, step, tree=0, **options):
    checkpoints.save(directory, step, tree, **options).wait()


def round_trip(directory, tree, **options):
    save(directory, 1, tree)
    return checkpoints.restore(directory, **options)


def assert_same(x, y):
    """The same leaves, bit by bit, in the same containers."""
    assert glassjax.tree.structure(x) == glassjax.tree.structure(y)
    for a, b in zip(glassjax.tree.leaves(x), glassjax.tree.leaves(y), strict=True):
        assert type(a) is type(b)
        if isinstance(a, bool | int | float | complex):
            assert repr(a) == repr(b)
            continue
        assert glassjax.typeof(a) == glassjax.typeof(b)
        if isinstance(a, glassjax.Array) and glassjax.dtypes.issubdtype(
            a.dtype, glassjax.dtypes.prng_key
        ):
            a, b = random.key_data(a), random.key_data(b)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@for_each("dtype", [*DTYPES.split(), *NARROW.split(), "int4", "uint4"])
def test_numbers_of_all_dtypes(dtype, tmp_path):
    x = numbers_of(getattr(ml_dtypes, dtype, dtype))
    tree = [x, x[:, :0], x[1, 1:2].reshape(()), x.T[::-2]]
    if "int4" not in dtype:  # the device holds none
        tree += [jnp.asarray(x), jnp.asarray(x[:0]), jnp.asarray(x)[0, 0]]
    found = round_trip(tmp_path / dtype, tree)
    assert_same(found, tree)
    assert_same(checkpoints.restore(tmp_path / dtype, tree), tree)


TREES = {
    "numbers of Python": [True, False, 3, -(10**30), 0.1, float("nan"), -0.0, 1 - 2j, -0.0 + 1j],
    "nothing": {},
    "None": None,
    "containers": {"a": [], "b": ((), {"c": None}), "d": [{}, (1, [jnp.ones(2)])], "e": {3: 1}},
    "keys": {"one": random.key(3), "some": random.split(random.key(1), (2, 2))},
    "old keys": random.PRNGKey(3),
    "weak": [jnp.asarray(3.0), jnp.asarray(2), jnp.float32(3)],
    "float0": [np.zeros(3, glassjax.dtypes.float0)],
    "one leaf": jnp.arange(3),
    "many": [jnp.full(3, i) for i in range(300)],
    "another byte order": np.arange(3, dtype=">i4").astype("=i4"),
}


@for_each("name", TREES)
def test_trees(name, tmp_path):
    assert_same(round_trip(tmp_path / name, TREES[name]), TREES[name])
    if TREES[name] is not None:
        assert_same(checkpoints.restore(tmp_path / name, TREES[name]), TREES[name])


def test_another_byte_order(tmp_path):
    found = round_trip(tmp_path, np.arange(3, dtype=">i4"))
    np.testing.assert_array_equal(found, np.arange(3))


def test_classes_are_restored_like_a_tree_of_them(tmp_path):
    tree = Pair(jnp.ones(2), [Pair(1, jnp.zeros(3))])
    save(tmp_path, 1, tree)
    shapes = glassjax.tree.map(lambda x: glassjax.ShapeDtypeStruct(np.shape(x), x.dtype), tree[:1])
    like = Pair(shapes[0], [Pair(0, jnp.ones(3))])
    assert_same(checkpoints.restore(tmp_path, like), tree)
    with pytest.raises(ValueError, match=r"restore: the structure .* Give `like`"):
        checkpoints.restore(tmp_path)


def test_numbers_of_python_and_scalar_arrays(tmp_path):
    """A state of training begins with numbers of Python, and has arrays after the first step."""
    save(tmp_path, 1, {"step": jnp.asarray(3), "rate": 0.5})
    found = checkpoints.restore(tmp_path, {"step": 0, "rate": jnp.asarray(0.0, jnp.float32)})
    assert_same(found, {"step": jnp.asarray(3), "rate": jnp.asarray(0.5, jnp.float32)})


def test_the_numbers_are_those_when_save_was_called(tmp_path):
    x, donated, deleted = np.ones(10**6), jnp.ones(10**6), jnp.ones(10**6)
    pending = checkpoints.save(tmp_path, 1, [x, donated, deleted])
    x[:] = 2
    glassjax.jit(lambda x: 3 * x, donate_argnums=0)(donated).block_until_ready()
    deleted.delete()
    pending.wait()
    assert all((np.asarray(x) == 1).all() for x in checkpoints.restore(tmp_path))


def test_steps(tmp_path):
    assert checkpoints.latest_step(tmp_path / "new") is None
    for step in (0, 2, 9, 10, 100):
        save(tmp_path / "new", step, step)
    assert checkpoints.all_steps(tmp_path / "new") == [0, 2, 9, 10, 100]
    assert checkpoints.latest_step(str(tmp_path / "new")) == 100
    assert checkpoints.restore(tmp_path / "new") == 100
    assert checkpoints.restore(tmp_path / "new", step=9) == 9
    checkpoints.remove(tmp_path / "new", 100)
    save(tmp_path / "new", 11, 11, keep_last=2)
    assert checkpoints.all_steps(tmp_path / "new") == [10, 11]
    assert sorted(os.listdir(tmp_path / "new")) == ["10", "11"]


def test_saves_one_after_the_other(tmp_path):
    pending = [checkpoints.save(tmp_path, i, jnp.full(10**5, i), keep_last=2) for i in range(5)]
    for each in pending:
        each.wait()
        assert each.done()
    assert checkpoints.all_steps(tmp_path) == [3, 4]
    assert (checkpoints.restore(tmp_path) == 4).all()


REFUSED = {
    "a tracer": (
        lambda d: glassjax.jit(lambda x: checkpoints.save(d, 9, {"x": x}))(1.0),
        TypeError,
        "save: the leaf tree['x'] is a tracer",
    ),
    "text": (
        lambda d: save(d, 9, {"x": "word"}),
        TypeError,
        "save: the leaf tree['x'] must be an array or a number, found 'word' of type str",
    ),
    "an array of text": (
        lambda d: save(d, 9, [np.array(["word"])]),
        TypeError,
        "save: the leaf tree[0] must be an array of numbers, found dtype <U4",
    ),
    "an array of objects": (
        lambda d: save(d, 9, [np.array([None])]),
        TypeError,
        "save: the leaf tree[0] must be an array of numbers, found dtype object",
    ),
    "a step that is there": (lambda d: save(d, 5, 1), ValueError, "5 is there already; delete it"),
    "a step before": (
        lambda d: save(d, 4, 1),
        ValueError,
        "step 4 is before step 5, and a restart would begin with the latest",
    ),
    "a step below 0": (lambda d: save(d, -1, 1), ValueError, "step must be at least 0, found -1"),
    "half a step": (lambda d: save(d, 1.5, 1), TypeError, "step must be an int, found 1.5"),
    "a URL": (lambda d: save("gs://bucket", 9, 1), ValueError, "a path in a file system, found"),
    "no path": (lambda d: save(3, 9, 1), TypeError, "save: directory must be"),
    "keep none": (lambda d: save(d, 9, 1, keep_last=0), ValueError, "keep_last must be at least 1"),
    "an unknown step": (
        lambda d: checkpoints.restore(d, step=6),
        FileNotFoundError,
        "there is no step 6; {d} has complete checkpoints of the steps [1, 5]",
    ),
    "an empty directory": (
        lambda d: checkpoints.restore(d / "none"),
        FileNotFoundError,
        "restore: {d}/none has no complete checkpoint",
    ),
    "fewer leaves": (
        lambda d: checkpoints.restore(d, {"w": 1}),
        ValueError,
        "restore: `like` lacks tree['n'], which step 5 has. `like` must have the structure",
    ),
    "more leaves": (
        lambda d: checkpoints.restore(d, {"w": 1, "n": 1, "z": [1, 2]}),
        ValueError,
        "restore: `like` has tree['z'][0], tree['z'][1], which step 5 has not",
    ),
    "another shape": (
        lambda d: checkpoints.restore(d, {"w": jnp.ones(3, jnp.float32), "n": 1}),
        ValueError,
        "the leaf like['w'] is of type f32[3], and the checkpoint has f32[4]",
    ),
    "another dtype": (
        lambda d: checkpoints.restore(d, {"w": jnp.ones(4, jnp.int32), "n": 1}),
        ValueError,
        "the leaf like['w'] is of type i32[4], and the checkpoint has f32[4]",
    ),
    "an array as a number": (
        lambda d: checkpoints.restore(d, {"w": 1, "n": 1}),
        ValueError,
        "the leaf like['w'] is a number, and the checkpoint has f32[4]",
    ),
    "a number too large": (
        lambda d: checkpoints.restore(d, {"w": jnp.ones(4, jnp.float32), "n": jnp.int8(1)}),
        ValueError,
        "the leaf like['n'] is of type i8[], which cannot hold 300",
    ),
    "a number of another kind": (
        lambda d: checkpoints.restore(d, {"w": jnp.ones(4, jnp.float32), "n": jnp.ones(())}),
        ValueError,
        "the leaf like['n'] is of type f64[], and the checkpoint has the int 300",
    ),
    "like text": (
        lambda d: checkpoints.restore(d, {"w": "w", "n": 1}),
        TypeError,
        "the leaf like['w'] must be an array, a ShapeDtypeStruct or a number, found 'w' of type",
    ),
    "nothing to remove": (
        lambda d: checkpoints.remove(d, 6),
        FileNotFoundError,
        "remove: there is no {d}/6; {d} has complete checkpoints of the steps [1, 5]",
    ),
}


@pytest.fixture(scope="module")
def two_steps(tmp_path_factory):
    directory = tmp_path_factory.mktemp("steps")
    for step in (1, 5):
        save(directory, step, {"w": jnp.arange(4, dtype=jnp.float32), "n": 300})
    return directory


@for_each("name", REFUSED)
def test_refusals(name, two_steps):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message.format(d=two_steps))):
        call(two_steps)
    assert checkpoints.all_steps(two_steps) == [1, 5]


def test_without_tensorstore_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    for call in (lambda: save(tmp_path, 1), lambda: checkpoints.restore(tmp_path)):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'glassjax\[checkpoint\]'"):
            call()


def test_what_cannot_be_written_is_an_error(tmp_path):
    """Of `wait`, and if nobody waits, of the next `save`."""
    (tmp_path / "file").touch()
    pending = checkpoints.save(tmp_path / "file", 1, jnp.ones(3))
    with pytest.raises(RuntimeError, match=r"save: step 1 was not saved: .*Not a directory|exists"):
        pending.wait()
    checkpoints.save(tmp_path / "file", 2, jnp.ones(3))
    with pytest.raises(RuntimeError, match="save: step 2 was not saved"):
        save(tmp_path / "good", 3)
    save(tmp_path / "good", 3)


# Damage


def damages(data, rng):
    """Contents that a damaged file may have; None for none."""
    yield None
    yield b""
    for _ in range(4):
        yield data[: rng.randrange(len(data))]
        yield data + bytes([rng.randrange(256)])
        at = rng.randrange(len(data))
        yield data[:at] + bytes(len(data[at : at + 64])) + data[at + 64 :]
    for _ in range(12):
        at = rng.randrange(len(data))
        yield data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def outcome(directory):
    try:
        return checkpoints.restore(directory, step=5)
    except (FileNotFoundError, ValueError) as error:
        return error


def test_damage_is_an_error_or_harmless(tmp_path):
    tree = {"a": np.arange(1000.0), "b": jnp.zeros((3, 4)), "c": [random.key(3), 7, 0.25]}
    original, copy = tmp_path / "original", tmp_path / "copy"
    save(original, 4, tree)
    save(original, 5, tree)
    files = [path for path in sorted((original / "5").rglob("*")) if path.is_file()]
    assert len(files) >= 3
    rng, refused = python_random.Random(0), 0
    shutil.copytree(original, copy)
    for path in files:
        data, damaged = path.read_bytes(), copy / path.relative_to(original)
        for content in damages(data, rng):
            damaged.unlink() if content is None else damaged.write_bytes(content)
            found = outcome(copy)
            if isinstance(found, FileNotFoundError):  # without its manifest, it is not complete
                assert damaged.name == "manifest.json"
                assert "there is no step 5" in str(found)
            elif isinstance(found, ValueError):
                assert str(copy / "5") in str(found)
                assert "Restore another one, with step=4" in str(found)
            else:
                assert_same(found, tree)
            refused += isinstance(found, Exception)
        damaged.write_bytes(data)
    assert refused > 50
    assert_same(checkpoints.restore(copy), tree)


def test_a_checkpoint_under_the_name_of_another_is_refused(two_steps, tmp_path):
    shutil.copytree(two_steps / "5", tmp_path / "7")
    with pytest.raises(ValueError, match="it is of step 5, and was renamed"):
        checkpoints.restore(tmp_path)


def test_what_a_killed_process_leaves_is_not_seen_and_deleted_later(two_steps, tmp_path):
    shutil.copytree(two_steps / "1", tmp_path / "1")
    shutil.copytree(two_steps / "5", tmp_path / ".5.01234567.incomplete")
    shutil.copytree(two_steps / "5", tmp_path / ".0.01234567.removed")
    hosts = {"here": socket.gethostname(), "elsewhere": "another-host"}
    parent, gone = os.getppid(), 2**22 + 1  # above the largest number of a process
    left = {
        name: tmp_path / f".5.01234567-89abcdef-{pid}-{hosts[host]}.incomplete"
        for name, pid, host in [
            ("of one that runs", parent, "here"),
            ("of one that is gone", gone, "here"),
            ("of another host", gone, "elsewhere"),
            ("of another host, long ago", parent, "elsewhere"),
        ]
    }
    for path in [*left.values(), tmp_path / "notes"]:
        path.mkdir()
    os.utime(left["of another host, long ago"], (0, 0))
    assert checkpoints.all_steps(tmp_path) == [1]
    save(tmp_path, 6)
    stays = [left["of one that runs"].name, left["of another host"].name]
    assert sorted(os.listdir(tmp_path)) == sorted(["1", "6", "notes", *stays])


def test_the_home_directory_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    save("~/steps", 1)
    assert checkpoints.all_steps(tmp_path / "steps") == [1]


# Processes


def program(source, *arguments):
    return [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]


def test_a_process_ends_when_its_checkpoint_is_complete(tmp_path):
    source = """
        import sys
        import numpy as np
        from glassjax import checkpoints
        checkpoints.save(sys.argv[1], 1, np.ones(10**6))
    """
    subprocess.run(program(source, tmp_path), check=True, timeout=300)
    assert checkpoints.restore(tmp_path).sum() == 10**6


SAVE_FOR_EVER = """
    import os, sys
    import numpy as np
    import tensorstore
    from glassjax import checkpoints

    def save_for_ever(directory):
        step = checkpoints.latest_step(directory) or 0
        while True:
            step += 1
            state = {"step": step, "x": np.full(300_000, step), "y": [np.float32(step)] * 20}
            checkpoints.save(directory, step, state, keep_last=2)

    for line in sys.stdin:  # starting a process takes longer than this
        pid = os.fork()
        if pid == 0:
            save_for_ever(line.rstrip())
        print(pid, flush=True)
        print(os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_the_last_complete_checkpoint_outlives_kills(tmp_path):
    latest, interrupted, rng = 0, 0, python_random.Random(0)
    pipe = subprocess.PIPE
    parent = subprocess.Popen(program(SAVE_FOR_EVER), stdin=pipe, stdout=pipe, text=True)
    for kills in range(50):
        if kills >= 10 and interrupted:  # a kill may fall between two checkpoints
            break
        parent.stdin.write(f"{tmp_path}\n")
        parent.stdin.flush()
        child, deadline = int(parent.stdout.readline()), time.monotonic() + 120
        while (checkpoints.latest_step(tmp_path) or 0) <= latest:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        assert int(parent.stdout.readline()) == signal.SIGKILL
        hidden = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
        assert len(hidden) <= 2  # each process deletes what the one before has left
        interrupted += any(name.endswith("incomplete") for name in hidden)
        steps = checkpoints.all_steps(tmp_path)
        assert 1 <= len(steps) <= 3
        assert steps[-1] > latest
        latest = steps[-1]
        for step in steps:
            state = checkpoints.restore(tmp_path, step=step)
            assert state["step"] == step
            assert (state["x"] == step).all()
            assert state["y"] == [step] * 20
    parent.communicate(timeout=300)
    assert interrupted > 0


LOSE_THE_LAST = """
import resource, signal, sys
import glassjax.numpy as jnp
from glassjax import checkpoints
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10**5, 10**5))  # as on a full disk
pending = checkpoints.save(sys.argv[1], 1, {"w": jnp.ones((1000, 1000))})
if "wait" in sys.argv:
    try:
        pending.wait()
    except RuntimeError:
        pass
print("the end")
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of file sizes are POSIX's")
@pytest.mark.parametrize("waits", [False, True])
def test_the_last_checkpoint_is_not_lost_without_a_word(tmp_path, waits):
    command = [sys.executable, "-c", LOSE_THE_LAST, tmp_path, *["wait"] * waits]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "the end\n"
    assert done.returncode == (0 if waits else 1)
    assert ("save: step 1 was not saved" in done.stderr) == (not waits)

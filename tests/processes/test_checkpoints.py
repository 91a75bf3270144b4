"""Checkpoints saved by several processes, restored by another number of them."""

import numpy as np
import pytest
import several_processes
from several_processes import joined, parts

import glassjax

pytest.importorskip("tensorstore")

from glassjax import checkpoints

X = np.arange(32.0, dtype=np.float32).reshape(8, 4)

BEGIN = """
from glassjax import checkpoints
directory = os.environ["DIRECTORY"]
X = np.arange(32.0, dtype=np.float32).reshape(8, 4)


def put(*spec):
    mesh = glassjax.make_mesh((glassjax.device_count(),), ("x",))
    return glassjax.device_put(X, NamedSharding(mesh, P(*spec)))


def attempt(function):
    try:
        print("no error", function())
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def on_disk(processes, tmp_path):
    def run(source, how="results", **options):
        begin = several_processes.BEGIN + BEGIN
        directory = str(tmp_path / "checkpoints")
        return getattr(processes, how)(source, begin=begin, DIRECTORY=directory, **options)

    return run


SAVE = """
tree = {
    "rows": put("x"), "whole": put(), "local": jnp.ones(3), "numpy": np.arange(3), "epoch": 3,
    "keys": glassjax.device_put(
        glassjax.random.split(glassjax.random.key(1), 4), put("x").sharding
    ),
}
checkpoints.save(directory, 1, tree).wait()
checkpoints.save(directory, 2, dict(tree, rows=2 * tree["rows"]), keep_last=1)
"""

RESTORE = """
like = {
    "rows": put(None, "x"), "whole": put("x"), "local": jnp.ones(3), "numpy": np.arange(3),
    "epoch": 0, "keys": glassjax.random.split(glassjax.random.key(1), 4),
}
found = checkpoints.restore(directory, like)
assert found["rows"].sharding == like["rows"].sharding
for name, x in [("rows", 2 * X), ("whole", X)]:
    for shard in found[name].addressable_shards:
        np.testing.assert_array_equal(shard.data, x[shard.index])
print(checkpoints.all_steps(directory), found["epoch"], found["local"], found["numpy"])
assert (glassjax.random.key_data(found["keys"]) == glassjax.random.key_data(like["keys"])).all()
"""


ALL_THE_SAME = """
x = put("x")

def save(step, tree, **options):
    attempt(lambda: checkpoints.save(others, step, tree, **options).wait())

others = directory + " of others"
save(1, [x] * (1 + rank))
save(1, ["text"] if rank else [x])
save(1, [x])
save(2, [x] if rank else ["text"])
if rank:
    save(3, [x], timeout=1.0)
print(checkpoints.all_steps(others))
"""


def test_another_number_of_processes_restores_what_was_saved(on_disk, tmp_path):
    """And all processes save the same tree: the others of the programs say how it differs."""
    both = on_disk(joined({"same": ALL_THE_SAME, "save": SAVE}), GLASSJAX_NUM_CPU_DEVICES="2")
    expected = "[2] 3 [1. 1. 1.] [0 1 2]"
    assert on_disk(RESTORE, indices=(0,), count=1, GLASSJAX_NUM_CPU_DEVICES="4") == [[expected]]
    found = checkpoints.restore(tmp_path / "checkpoints")
    np.testing.assert_array_equal(found["rows"], 2 * X)
    assert glassjax.typeof(found["rows"]) == glassjax.typeof(glassjax.numpy.asarray(X))

    printed = [parts(lines)["same"] for lines in both]
    for lines in printed:
        assert "the tree has other leaves, types or shardings than in process 0" in lines[0]
        assert "tree[0] must be an array or a number, found 'text'" in lines[1]
        assert lines[2] == "no error None"
        assert lines[-1] == "[1]"
    assert "must be an array or a number" in printed[0][3]
    assert "save: step 2 was not saved: process 0 " in printed[1][3]
    assert "must be an array or a number" in printed[1][3]
    assert "did not save in 1.0 s" in printed[1][4]


def test_several_processes_restore_what_was_saved(on_disk, tmp_path):
    tree = {
        "rows": 2 * X, "whole": X, "local": glassjax.numpy.ones(3, np.float32),
        "numpy": np.arange(3), "epoch": 3, "keys": glassjax.random.split(glassjax.random.key(1), 4),
    }  # fmt: skip
    checkpoints.save(tmp_path / "checkpoints", 2, tree).wait()
    assert on_disk(RESTORE) == [["[2] 3 [1. 1. 1.] [0 1 2]"]] * 2


def test_a_process_that_is_killed_while_it_saves_leaves_no_checkpoint(on_disk, tmp_path):
    """The other one ends, too, and the checkpoint before is there."""
    done = on_disk(
        """
        checkpoints.save(directory, 1, put("x")).wait()
        from glassjax.checkpoints import saving
        real = saving.write

        def write(*args, **options):
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            real(*args, **options)

        saving.write = write
        checkpoints.save(directory, 2, put("x") + 1).wait()
        print("not reached")
        """,
        how="run",
        HEARTBEAT="4",
    )
    assert all(each.code != 0 and each.printed == "" for each in done)
    assert checkpoints.all_steps(tmp_path / "checkpoints") == [1]
    np.testing.assert_array_equal(checkpoints.restore(tmp_path / "checkpoints"), X)

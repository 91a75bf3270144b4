"""glassjax and JAX in one process do not affect each other."""

import copy
import pickle
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax

COMPARE = """
    import numpy as np
    import jax.numpy as jnp
    import glassjax.numpy

    # JAX compiles and runs between the steps of our own program, and inside of it.
    x = np.linspace(0.0, 1.0, 5, dtype=np.float32)

    def ours(x):
        inside = float(jax.jit(jnp.sum)(jnp.ones(3)))
        return m3.jit(sin)(x) * inside

    theirs = jax.jit(lambda x: jnp.sin(x) * 3.0)
    for _ in range(2):
        left, right = m3.jit(ours)(x), theirs(x)
        np.testing.assert_allclose(left, right, rtol=1e-6)
        assert type(left) is m3.Array and isinstance(right, jax.Array)
    np.testing.assert_allclose(
        grad(lambda x: reduce_sum(ours(x)))(x), jax.grad(lambda x: theirs(x).sum())(x), rtol=1e-5
    )

    # Arrays of one are arrays for the other.
    assert jnp.asarray(left).dtype == jnp.float32
    np.testing.assert_array_equal(jnp.from_dlpack(glassjax.numpy.asarray(left)), left)
    np.testing.assert_array_equal(jnp.asarray(left) + right, np.asarray(left) + np.asarray(right))
    np.testing.assert_array_equal(m3.array(np.asarray(right)), right)
    assert left.dtype == np.float32 and m3.jit(sin)(1.0).dtype == np.float64
    assert jax.jit(jnp.sin)(1.0).dtype == jnp.float32  # 64 bits stay switched off in JAX
"""
OURS = """
    import glassjax_stage3 as m3
    from glassjax_stage2 import reduce_sum, sin
    from glassjax_stage4 import grad
    m3.jit(sin)(1.0)  # XLA's client is made
"""
THEIRS = """
    import jax
    jax.jit(lambda x: x + 1)(1.0)
"""

# What jaxlib and JAX have process-wide: settings, classes, tables of what is registered.
SNAPSHOT = """
    def snapshot():
        import jaxlib, jax
        from jaxlib import _jax, xla_client
        from jax._src import config, core, xla_bridge
        array = _jax.ArrayImpl if hasattr(_jax, "ArrayImpl") else jax._src.array.ArrayImpl
        return {
            "settings": {k: str(v) for k, v in jax.config.values.items()},
            "ArrayImpl": {k: id(v) for k, v in vars(array).items()},
            "Tracer": {k: id(v) for k, v in vars(core.Tracer).items()},
            "_jax": {k: id(v) for k, v in vars(_jax).items()},
            "xla_client": {k: id(v) for k, v in vars(xla_client).items()},
            "backends": sorted(xla_bridge.backends()),
            "trees": [
                str(jax.tree_util.tree_structure(tree))
                for tree in ([1, (2, {"a": None})], OrderedDict(a=1), Pair(1, 2))
            ],
        }
"""


def run(*parts):
    """Runs a program in a process of its own and returns what it prints."""
    program = "\n".join(textwrap.dedent(part) for part in parts)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_of_jaxlib_or_jax_is_changed():
    run(
        "from collections import OrderedDict, namedtuple; Pair = namedtuple('Pair', 'x y')",
        SNAPSHOT,
        "before = snapshot()",
        OURS,
        """
        import numpy as np
        for package in ("the stages", "glassjax"):
            if package == "glassjax":
                import glassjax
            x = m3.array([1.0, 2.0])
            grad(lambda x: reduce_sum(m3.jit(sin)(x)))(x)
            repr(x + 1), np.asarray(x), memoryview(np.asarray(x))
            after = snapshot()
            for what in before:
                assert before[what] == after[what], (package, what)
        """,
    )


def test_jax_is_not_imported_though_it_is_installed():
    """And tracing and printing programs of the stages does not even import jaxlib."""
    run(
        """
        import sys
        import glassjax_stage4 as m4
        from glassjax_stage2 import sin
        from glassjax_stage3 import make_jaxpr
        print(make_jaxpr(m4.grad(sin))(1.0))
        assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")]
        """,
        OURS,
        """
        import numpy as np
        for package in ("the stages", "glassjax"):
            if package == "glassjax":
                import glassjax
            x = m3.array([[1.0, 2.0], [3.0, 4.0]])
            y = x @ x + 1 - x.T
            repr(y), str(y), f"{y}", y.tolist(), np.asarray(y)
            grad(lambda x: reduce_sum(sin(x) * x))(x)
            lowered = m3.jit(sin).lower(x)
            compiled = lowered.compile()
            compiled.as_text(), lowered.as_text()
            print(m3.make_jaxpr(grad(lambda x: reduce_sum(sin(x))))(x))
            try:
                m3.jit(lambda x: 1 if x else 2)(1.0)
            except TypeError as error:
                str(error)
            assert not [name for name in sys.modules if name.split(".")[0] == "jax"], package
        """,
    )


# A JAX array is not an array of ours: the error says what to do. A JAX tracer never fits.
REFUSALS = """
    import jax.numpy as jnp
    import numpy as np
    x = jnp.ones(3)
    for f in (sin, m3.jit(sin), grad(lambda x: reduce_sum(x))):
        try:
            f(x)
        except TypeError as error:
            assert "expected an array or a number" in str(error), error
        else:
            raise SystemExit("a JAX array went through")
    try:
        jax.jit(lambda x: sin(x))(x)
    except TypeError as error:
        assert str(error)
    else:
        raise SystemExit("a JAX tracer went through")
"""

EXCHANGE = """
    import glassjax, numpy as np
    import glassjax.numpy as gnp
    import jax.numpy as jnp

    # Each computes between the steps of the other, and takes what the other made.
    x = gnp.arange(6, dtype=gnp.float32)
    for _ in range(3):
        theirs = jax.jit(lambda x: x * 2)(jnp.asarray(x))
        x = glassjax.jit(lambda x: x + 1)(gnp.from_dlpack(theirs))
    assert type(x) is glassjax.Array and isinstance(theirs, jax.Array)
    assert x.tolist() == [8 * i + 7 for i in range(6)], x
    assert not isinstance(theirs, glassjax.Array) and not isinstance(x, jax.Array)

    for dtype in ("float32", "bfloat16", "bool", "int8", "complex64"):
        theirs = jnp.arange(6).reshape(2, 3).astype(dtype)
        ours = gnp.from_dlpack(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tolist() == theirs.tolist()
        back = jnp.from_dlpack(ours)
        assert back.dtype == theirs.dtype and back.tolist() == theirs.tolist()

    # Deleting and donating here concerns nobody there.
    ours = gnp.ones(3)
    shared, copied = jnp.from_dlpack(ours), jnp.asarray(ours)
    ours.delete()
    assert shared.tolist() == copied.tolist() == [1, 1, 1]
    donated = jax.jit(lambda x: x + 1, donate_argnums=0)(shared)
    assert donated.tolist() == [2, 2, 2]
    assert glassjax.devices()[0].platform == jax.devices("cpu")[0].platform
"""


@pytest.mark.parametrize("order", [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_whichever_comes_first(order):
    run(*order, COMPARE, REFUSALS, EXCHANGE)


@for_each("value", [np.float32(2), np.zeros((2, 0), np.int8), np.ones((2, 3), bool)])
def test_arrays_have_what_those_of_jax_have(value):
    """Names, and what they say, of all that is asked of an array besides computing."""
    said = []
    for lib in (glassjax, jax):
        x = lib.numpy.asarray(value)
        said.append([
            x.nbytes, x.itemsize, x.on_device_size_in_bytes(), x.weak_type,
            x.is_deleted(), x.is_ready(), x.block_until_ready() is x, len(x.devices()),
            x.copy_to_host_async(), x.addressable_data(0).shape, x.device.platform,
            type(lib.device_get(x)), lib.device_get([x, 1.5])[1],
            type(lib.device_put({"a": 1})["a"]) is type(x),
            lib.device_put(1).weak_type, lib.device_put(1.5).dtype,
            pickle.loads(pickle.dumps(x)).dtype, copy.deepcopy(x).shape,
            type(np.ones(3, np.float32) * lib.numpy.ones(3)) is type(x),
            lib.device_count(), lib.default_backend(), lib.process_index(),
            lib.process_count(), len(lib.local_devices()),
        ])  # fmt: skip
        x.delete()
        assert x.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            x + 1
    assert said[0] == said[1]


def test_tracers_are_arrays(lib):
    seen = []
    lib.jit(lambda x: seen.append(isinstance(x, lib.Array)) or x)(1.0)
    lib.vmap(lambda x: seen.append(isinstance(x, lib.Array)) or x)(np.ones(2))
    lib.grad(lambda x: seen.append(isinstance(x, lib.Array)) or x)(1.0)
    assert seen == [True] * 3

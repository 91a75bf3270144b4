"""Programs in which the device has most of the work: what they take is XLA's and the kernels'.

Both libraries should give XLA the same to do, so the ratio should be one. Sizes are for a GPU; on a
CPU they are an eighth, which shows that the programs run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import programs
from benchmarks.measure import Case, versus_jax
from benchmarks.programs import Library


def _scaled(lib: Library, size: int) -> int:
    return size if lib.core.default_backend() == "gpu" else size // 8


def repeated(make: Callable[[Library], tuple[Callable[[Any], Any], Any]]) -> Case:
    """The case of a function jitted and called on its own result, until that is computed."""

    def case(lib: Library) -> Callable[[], Any]:
        step, state = make(lib)
        step = lib.core.jit(step)
        states = [state]

        def action() -> None:
            states[0] = lib.core.block_until_ready(step(states[0]))

        return action

    return case


def applied(make: Callable[[Library], tuple[Callable[[Any], Any], Any]]) -> Case:
    """The case of a function jitted and called on the same argument, until it is computed."""

    def case(lib: Library) -> Callable[[], Any]:
        f, x = make(lib)
        f = lib.core.jit(f)
        return lambda: lib.core.block_until_ready(f(x))

    return case


def mlp(lib: Library) -> tuple[Any, Any]:
    width = _scaled(lib, 1024)
    loss = programs.mlp_loss(lib)
    batch = programs.mlp_batch(lib, _scaled(lib, 512), 784)

    def step(params: Any) -> Any:
        slopes = lib.core.grad(loss)(params, batch)
        return lib.core.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, slopes)

    return step, programs.mlp_params(lib, (784, width, width, 10))


def transformer(lib: Library) -> tuple[Any, Any]:
    """A step of four blocks in bfloat16, with causal attention and the normalisation in float32."""
    jnp, nn = lib.numpy, lib.core.nn
    rng = np.random.default_rng(6)
    width, heads, length, batch = _scaled(lib, 512), 8, _scaled(lib, 256), 16

    def weights(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), "bfloat16")

    params = [
        {
            "qkv": weights(width, 3 * width),
            "out": weights(width, width),
            "up": weights(width, 4 * width),
            "down": weights(4 * width, width),
        }
        for _ in range(4)
    ]
    x = jnp.asarray(rng.normal(size=(batch, length, width)), "bfloat16")

    def normalized(x: Any) -> Any:
        x = x.astype("float32")
        centred = x - x.mean(-1, keepdims=True)
        return (centred / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)).astype("bfloat16")

    def attention(block: Any, x: Any) -> Any:
        qkv = (normalized(x) @ block["qkv"]).reshape(batch, length, 3, heads, width // heads)
        q, k, v = (qkv[:, :, i] for i in range(3))
        scores = jnp.einsum("bthd,bshd->bhts", q, k).astype("float32") * heads**0.5 / width**0.5
        causal = jnp.tril(jnp.ones((length, length), bool))
        weights = nn.softmax(jnp.where(causal, scores, -1e9)).astype("bfloat16")
        mixed = jnp.einsum("bhts,bshd->bthd", weights, v)
        return mixed.reshape(batch, length, width) @ block["out"]

    def loss(params: Any) -> Any:
        y = x
        for block in params:
            y = y + attention(block, y)
            y = y + nn.gelu(normalized(y) @ block["up"]) @ block["down"]
        return (y.astype("float32") ** 2).mean()

    def step(params: Any) -> Any:
        slopes = lib.core.grad(loss)(params)
        return lib.core.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, slopes)

    return step, params


def product(lib: Library) -> tuple[Any, Any]:
    size = _scaled(lib, 8192)
    x = np.random.default_rng(7).normal(size=(size, size))
    return lambda x: x @ x, lib.numpy.asarray(x, "bfloat16")


def normals(lib: Library) -> tuple[Any, Any]:
    random = lib.core.random
    count = _scaled(lib, 10_000_000)
    return lambda key: random.normal(key, (count,)), random.key(0)


def sort(lib: Library) -> tuple[Any, Any]:
    x = np.random.default_rng(8).normal(size=_scaled(lib, 4_000_000))
    return lib.numpy.sort, lib.numpy.asarray(x, "float32")


def memory(lib: Library) -> tuple[Any, Any]:
    return lambda x: x * 2 + 1, lib.numpy.ones(_scaled(lib, 64 * 1024 * 1024))


def scan(lib: Library) -> tuple[Any, Any]:
    jnp, lax = lib.numpy, lib.core.lax
    return lambda x: lax.scan(lambda c, _: (jnp.tanh(c + x), None), x, None, 200)[0], jnp.ones(512)


LINES = [
    versus_jax("heavy: MLP step, 784-1024-1024-10, batch of 512", repeated(mlp), number=20),
    versus_jax("heavy: transformer step, 4 blocks, bfloat16", repeated(transformer), number=5),
    versus_jax("heavy: product of 8192 x 8192, bfloat16", applied(product), number=5),
    versus_jax("heavy: ten million normals", applied(normals), number=5),
    versus_jax("heavy: sort of four million floats", applied(sort), number=5),
    versus_jax("heavy: 256 MB read and written", applied(memory), number=5),
    versus_jax("heavy: loop of 200 steps", applied(scan), number=5),
]

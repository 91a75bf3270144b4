"""Random keys: making, splitting and converting them.

A key is an element of dtype `key<fry>`; or, in the old style, two words of uint32. Every function
takes both kinds, and returns keys of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.key_arrays import random_unwrap, random_wrap
from minijax.lax.shapes import creation
from minijax.lax.shapes.creation import sizes_of
from minijax.random.key_use import cloned, note_key_use
from minijax.random.threefry import UINT32, UINT64, threefry2x32
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.key_dtype import key_dtype as KEY
from minijax.settings.number_types import x64
from minijax.settings.prng import custom_prng
from minijax_stage2 import Tracer, bind1, typeof
from minijax_stage2.primitives import convert_element_type_p
from minijax_stage2.shaped_array import is_value
from minijax_stage2.shown import shown

IMPLEMENTATION = "threefry2x32"


@hiding_frames
def key(seed: ArrayLike, *, impl: Any = None, dtype: Any = None) -> Array:
    """A key made from an integer.

    Arguments:
        seed: an integer. Its low 32 bits are used, with `enable_x64` all 64.
        impl: "threefry2x32" or None, which mean the same.
        dtype: the same, given as a key dtype.

    Returns:
        A scalar of dtype `key<fry>`.

    Raises:
        TypeError: `seed` is not an integer, or not a single one.
        OverflowError: `seed` is an int of more than 64 bits.

    >>> from minijax import random
    >>> random.normal(random.key(0), (3,))
    Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    """
    _require_threefry("key", impl, dtype)
    return _key(_seed("key", seed))


@hiding_frames
def PRNGKey(seed: ArrayLike, *, impl: Any = None) -> Array:
    """An old-style key, two words in an array of uint32; see `key`.

    The arguments and errors are those of `key`; with `enable_custom_prng`, the result, too.

    >>> random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    _require_threefry("PRNGKey", impl)
    make = _key if custom_prng.value else _words_of_seed
    return make(_seed("PRNGKey", seed))


@operation
def _key(seed: Any) -> Any:
    return random_wrap(_words_of_seed(seed))


@operation
def _words_of_seed(seed: Any) -> Any:
    low = lax.convert_element_type(seed, UINT32)
    if typeof(seed).dtype.itemsize == 8:
        high = lax.convert_element_type(lax.shift_right_logical(seed, 32), UINT32)
    else:
        high = lax.full((), 0, UINT32)
    return lax.concatenate([lax.reshape(high, (1,)), lax.reshape(low, (1,))], 0)


@evaluated_by_library
def _seed(caller: str, seed: Any) -> Any:
    """A seed as an integer of the current width."""
    if isinstance(seed, int):
        if not -(2**63) <= seed < 2**63:
            raise OverflowError(f"{caller}: a seed has 64 bits at most, found {seed}")
        return np.int64(seed) if x64.value else np.int64(seed).astype(np.int32)
    if isinstance(seed, list | tuple):
        seed = np.asarray(seed)
    if not is_value(seed):
        raise TypeError(f"{caller}: a seed is an integer, found {shown(seed)}")
    aval = typeof(seed)
    if aval.dtype.kind not in "iub":
        raise TypeError(f"{caller}: a seed is an integer, found {aval}")
    if aval.shape:
        raise TypeError(f"{caller}: a seed is one integer, found {aval}; map `{caller}` by vmap")
    return seed


def _require_threefry(caller: str, *impls: Any) -> None:
    for impl in impls:
        if isinstance(impl, str) and impl in ("rbg", "unsafe_rbg"):
            raise NotImplementedError(f"{caller}: there are keys of {IMPLEMENTATION!r} only")
        is_ours = isinstance(impl, np.dtype) and impl == KEY
        is_named = isinstance(impl, str) and impl == IMPLEMENTATION
        if impl is not None and not is_ours and not is_named:
            raise ValueError(f"{caller}: expected impl {IMPLEMENTATION!r}, found {shown(impl)}")


@operation(static="num")
def split(key: ArrayLike, num: int | tuple[int, ...] = 2) -> Array:
    """New keys, practically independent of each other and of `key`.

    Arguments:
        key: the key. Do not use it again.
        num: the number of keys, or a shape.

    Returns:
        An array of keys, of the same style as `key`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: it is more than one.

    >>> key, for_weights, for_noise = random.split(random.key(0), 3)
    >>> f"{random.normal(for_weights):.2f}", f"{random.normal(for_noise):.2f}"
    ('-2.44', '1.30')
    """
    sizes = sizes_of("split", num)
    keys = threefry2x32(single_key("split", key), counts(sizes), KEY)
    return keys if is_typed(key) else random_unwrap(keys)


@hiding_frames
def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """A new key, from a key and an integer.

    Arguments:
        key: the key.
        data: an integer, of which 32 bits are used.

    Raises:
        TypeError: `key` is not a key, or `data` is not a number.
        ValueError: `key` is more than one.
        OverflowError: `data` is an int outside 0 to 2**32 - 1.

    >>> key = random.key(0)
    >>> keys = [random.fold_in(key, step) for step in range(3)]
    >>> [random.randint(key, (), 0, 100).item() for key in keys]
    [91, 22, 59]
    """
    if isinstance(data, float | np.floating):
        if not np.isfinite(data):
            raise ValueError(f"fold_in: data must be an integer, found {data}")
        data = int(data)
    if isinstance(data, int) and not 0 <= data < 2**32:
        raise OverflowError(f"fold_in: an int has to be from 0 to 2**32 - 1, found {data}")
    return _fold_in(key, np.uint32(data) if isinstance(data, int) else data)


@operation
def _fold_in(key: Any, data: Any) -> Any:
    aval = typeof(data)
    if aval.dtype.kind == "c":
        raise TypeError(f"fold_in: data must be an integer, found {aval}")
    if aval.shape:
        raise TypeError(f"fold_in: data is one number, found {aval}; map `fold_in` by vmap")
    count = to_uint64(lax.convert_element_type(data, UINT32))
    new = threefry2x32(single_key("fold_in", key, draws=False), count, KEY)
    return new if is_typed(key) else random_unwrap(new)


def is_typed(key: Any) -> bool:
    """Return True if `key` is of dtype `key<fry>`."""
    return typeof(key).dtype == KEY


def as_keys(caller: str, keys: Any) -> Any:
    """Keys of dtype `key<fry>`, if they are keys at all."""
    if not is_value(keys):
        raise TypeError(f"{caller}: expected a key, found {shown(keys)}; random.key(0) makes one")
    aval = typeof(keys)
    if aval.dtype == KEY:
        return keys
    if aval.dtype != UINT32 or aval.shape[-1:] != (2,):
        raise TypeError(
            f"{caller}: expected a key, or two words of uint32, found {aval}; "
            "random.key(0) makes one"
        )
    return random_wrap(keys)


def single_key(caller: str, key: Any, draws: bool = True) -> Any:
    """A single key of dtype `key<fry>`, from which `caller` draws by default."""
    keys = as_keys(caller, key)
    shape = typeof(keys).shape
    if shape:
        raise ValueError(
            f"{caller}: expected a single key, found keys of shape {shape}; map `{caller}` over "
            "them by vmap"
        )
    return note_key_use(caller, keys) if draws and keys is key else keys


def counts(sizes: Sequence[int]) -> Any:
    """0, 1, 2, ... as an array of uint64 of that shape."""
    size = int(np.prod(sizes, dtype=object))
    flat = bind1(creation.iota_p, dtype=UINT64, shape=(size,), dimension=0)
    return flat if len(sizes) == 1 else lax.reshape(flat, tuple(sizes))


def to_uint64(x: Any) -> Any:
    """`x` as 64-bit numbers, even if 64 bits are not enabled."""
    return bind1(convert_element_type_p, x, new_dtype=UINT64)


@operation
def key_data(keys: ArrayLike) -> Array:
    """The words of keys, as an array of uint32 with one more axis, of size 2.

    >>> random.key_data(random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    return random_unwrap(as_keys("key_data", keys))


@hiding_frames
def wrap_key_data(key_bits_array: ArrayLike, *, impl: Any = None, dtype: Any = None) -> Array:
    """Keys from their words, an array of uint32 of shape `(..., 2)`; the inverse of `key_data`.

    >>> saved = np.asarray(random.key_data(random.key(42)))
    >>> random.wrap_key_data(saved) == random.key(42)
    Array(True, dtype=bool)
    """
    _require_threefry("wrap_key_data", impl, dtype)
    return _wrap_key_data(key_bits_array)


@operation
def _wrap_key_data(words: Any) -> Any:
    if is_typed(words):
        raise TypeError(f"wrap_key_data: expected uint32, found keys, {typeof(words)}")
    return as_keys("wrap_key_data", words)


@evaluated_by_library
def key_impl(keys: ArrayLike) -> str:
    """The name of the generator of these keys.

    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    as_keys("key_impl", keys)
    return IMPLEMENTATION


@hiding_frames
def key_dtype(impl_spec: Any = None) -> np.dtype[Any]:
    """The dtype of keys.

    >>> random.key(0).dtype == random.key_dtype()
    True
    """
    _require_threefry("key_dtype", impl_spec)
    return KEY


@evaluated_by_library
def clone(key: ArrayLike) -> Array:
    """The same key, for code that deliberately uses a key twice.

    >>> key = random.key(0)
    >>> random.normal(key) == random.normal(random.clone(key))
    Array(True, dtype=bool)
    """
    as_keys("clone", key)
    return cloned(key) if isinstance(key, Tracer | Array) else lax.full_like(key, key)


__all__ = [
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split",
    "wrap_key_data",
]  # fmt: skip

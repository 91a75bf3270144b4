"""Random keys: making, splitting and converting them.

A key is an element of a dtype such as `key<fry>`, which says how bits are made from it; or, in the
old style, an array of words of uint32, from which bits are made as `config.default_prng_impl` says.
Every function takes both kinds, and returns keys of the same kind.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NewType

import numpy as np

from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.key_arrays import random_unwrap, random_wrap
from minijax.lax.shapes.creation import sizes_of
from minijax.random.key_use import cloned, note_key_use
from minijax.random.primitives import random_fold_in_p, random_seed_p, random_split_p
from minijax.random.rbg import rbg, unsafe_rbg
from minijax.random.threefry import threefry
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import is_value
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.key_types import (
    Implementation,
    implementation_of,
    is_key_type,
    named,
    register,
)
from minijax.settings.number_types import warn, x64
from minijax.settings.prng import custom_prng, default_implementation, legacy_key, seed_offset
from minijax_stage2 import Tracer, bind1, typeof
from minijax_stage2.errors import shown

UINT32 = np.dtype(np.uint32)
Key = NewType("Key", Array)
Key.__doc__ = """An array of keys, in annotations.

>>> from minijax import random
>>> def draw(key: random.Key) -> Array:
...     return random.normal(key)
"""

for _each in (threefry, rbg, unsafe_rbg):
    register(_each)


@hiding_frames
def key(seed: ArrayLike, *, impl: Any = None, dtype: Any = None) -> Array:
    """A key made from an integer.

    Arguments:
        seed: an integer. Its low 32 bits are used, with `enable_x64` all 64.
        impl: how bits are made from the key: "threefry2x32", "rbg", "unsafe_rbg", or what
            `extend.random.define_prng_impl` returns; `config.default_prng_impl` by default.
        dtype: the same, given as a key dtype.

    Returns:
        A scalar of dtype `key<fry>`, `key<rbg>` or `key<urbg>`.

    Raises:
        TypeError: `seed` is not an integer, or not a single one.
        ValueError: there is no such implementation, or both `impl` and `dtype` are given.
        OverflowError: `seed` is an int of more than 64 bits.

    >>> from minijax import random
    >>> random.normal(random.key(0), (3,))
    Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    >>> random.key(0, impl="rbg")
    Array((), dtype=key<rbg>) overlaying:
    [0 0 0 0]
    """
    return seeded(_seed("key", seed), impl=_implementation("key", impl, dtype))


@hiding_frames
def PRNGKey(seed: ArrayLike, *, impl: Any = None) -> Array:
    """An old-style key, its words in an array of uint32; see `key`.

    The arguments and errors are those of `key`; with `enable_custom_prng`, the result, too.

    >>> random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    key = seeded(_seed("PRNGKey", seed), impl=_implementation("PRNGKey", impl))
    return key if custom_prng.value else random_unwrap(key)


@operation(static="impl")
def seeded(seed: Any, *, impl: Implementation) -> Any:
    """Keys of the implementation from an array of integers, one for each."""
    if offset := seed_offset.value:
        seed = lax.add(seed, typeof(seed).dtype.type(offset))
    return bind1(random_seed_p, seed, impl=impl)


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


def _implementation(caller: str, impl: Any, dtype: Any = None) -> Implementation:
    """The implementation that a user has described, or that is the default."""
    if impl is not None and dtype is not None:
        raise ValueError(f"{caller}: impl and dtype mean the same, found {impl!r} and {dtype!r}")
    given = dtype if impl is None else impl
    if given is None:
        return default_implementation()
    if isinstance(given, Implementation):
        return given
    if isinstance(given, np.dtype) and is_key_type(given):
        return implementation_of(given)
    if isinstance(given, str) and given in named:
        return named[given]
    error = ValueError if isinstance(given, str) else TypeError
    raise error(f"{caller}: impl is one of {', '.join(map(repr, named))}, found {shown(given)}")


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
    keys = bind1(random_split_p, single_key("split", key), shape=sizes)
    return _in_style_of(key, keys)


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
    number = lax.convert_element_type(data, UINT32)
    new = bind1(random_fold_in_p, single_key("fold_in", key, draws=False), number)
    return _in_style_of(key, new)


def is_typed(key: Any) -> bool:
    """Return True if the elements of `key` are keys."""
    return is_key_type(typeof(key).dtype)


def _in_style_of(given: Any, keys: Any) -> Any:
    """New keys as words, if the key from which they are made is."""
    return keys if is_typed(given) or custom_prng.value else random_unwrap(keys)


def as_keys(caller: str, keys: Any) -> Any:
    """Typed keys, if they are keys at all."""
    if not is_value(keys):
        raise TypeError(f"{caller}: expected a key, found {shown(keys)}; random.key(0) makes one")
    if is_typed(keys):
        return keys
    implementation = default_implementation()
    aval, shape = typeof(keys), implementation.key_shape
    if aval.dtype != UINT32 or aval.shape[-len(shape) :] != shape:
        raise TypeError(
            f"{caller}: expected a key, or {implementation.words} words of uint32, found {aval}; "
            "random.key(0) makes one"
        )
    if legacy_key.value != "allow":
        said = (
            f"{caller}: expected a key, found words of uint32; random.key makes a key, and "
            'legacy_prng_key="allow" accepts words'
        )
        if legacy_key.value == "error":
            raise ValueError(said)
        warn(said)
    return random_wrap(keys, implementation)


def single_key(caller: str, key: Any, draws: bool = True) -> Any:
    """A single typed key, from which `caller` draws by default."""
    keys = as_keys(caller, key)
    shape = typeof(keys).shape
    if shape:
        raise ValueError(
            f"{caller}: expected a single key, found keys of shape {shape}; map `{caller}` over "
            "them by vmap"
        )
    return note_key_use(caller, keys) if draws and keys is key else keys


@operation
def key_data(keys: ArrayLike) -> Array:
    """The words of keys, as an array of uint32 with one more axis, of size 2 or 4.

    >>> random.key_data(random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    return random_unwrap(as_keys("key_data", keys))


@hiding_frames
def wrap_key_data(key_bits_array: ArrayLike, *, impl: Any = None, dtype: Any = None) -> Array:
    """Keys from their words, the inverse of `key_data`.

    Arguments:
        key_bits_array: uint32 of shape `(..., 2)`, or `(..., 4)` for "rbg" and "unsafe_rbg".
        impl: how bits are made from the keys, as for `key`.
        dtype: the same, given as a key dtype.

    Raises:
        TypeError: these are not words of such keys.
        ValueError: there is no such implementation, or both `impl` and `dtype` are given.

    >>> saved = np.asarray(random.key_data(random.key(42)))
    >>> random.wrap_key_data(saved) == random.key(42)
    Array(True, dtype=bool)
    """
    return _wrapped(key_bits_array, impl=_implementation("wrap_key_data", impl, dtype))


@operation(static="impl")
def _wrapped(words: Any, *, impl: Implementation) -> Any:
    aval, shape = typeof(words), impl.key_shape
    if aval.dtype != UINT32 or aval.shape[-len(shape) :] != shape:
        expected = ", ".join(map(str, ("...", *shape)))
        raise TypeError(f"wrap_key_data: expected uint32 of shape ({expected}), found {aval}")
    return random_wrap(words, impl)


@evaluated_by_library
def key_impl(keys: ArrayLike) -> Hashable:
    """The name of the implementation of these keys; itself, if it has none.

    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    found = implementation_of(typeof(as_keys("key_impl", keys)).dtype)
    return found.name if named.get(found.name) == found else found


@hiding_frames
def key_dtype(impl_spec: Any = None) -> np.dtype[Any]:
    """The dtype of keys, by the name of their implementation.

    >>> random.key(0).dtype == random.key_dtype()
    True
    """
    return _implementation("key_dtype", impl_spec).dtype


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
    "Key", "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split",
    "wrap_key_data",
]  # fmt: skip

"""Random keys: made, split, folded, wrapped, and the bits they yield."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, NewType

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.errors import KeyReuseError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.key_arrays import random_unwrap, random_wrap
from glassjax.lax.shapes import sizes_of
from glassjax.primitives.declare import declare, leading_batch, lower_by
from glassjax.primitives.higher_order import declare_program
from glassjax.primitives.sharding_rules import agreed, as_operands, by_batch
from glassjax.random.prng import rbg, threefry, unsafe_rbg
from glassjax.runtime import array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings import number_types, options
from glassjax.settings.config import Switch, set_in_context
from glassjax.settings.number_types import PRNGImpl, bits_of, letter_of
from glassjax.shardings.types import Spec, spec_of
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.source import Source, user_source
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim

# The primitives of random keys: each applies a function of the keys' implementation.
#
# An array of keys is treated as if the function were mapped over it by `vmap`.


Avals = Sequence[ShapedArray]
Shape = tuple[int, ...]

random_seed_p = Primitive("random_seed")
random_split_p = Primitive("random_split")
random_fold_in_p = Primitive("random_fold_in")
random_bits_p = Primitive("random_bits")


def _require_keys(primitive: Primitive, keys: ShapedArray) -> None:
    if not number_types.is_key_type(keys.dtype):
        raise TypeError(f"{primitive}: expected keys, found {keys}")


def _for_each(function: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(typeof(x).ndim):
        function = vmap(function)
    return function(x)


def _seeded(seeds: Any, *, impl: PRNGImpl) -> list[Any]:
    return [_for_each(lambda seed: random_wrap(impl.seed(seed), impl), seeds)]


def _split_keys(keys: Any, *, shape: Shape) -> list[Any]:
    impl = number_types.implementation_of(typeof(keys).dtype)
    return [_for_each(lambda key: random_wrap(impl.split(random_unwrap(key), shape), impl), keys)]


def _bits(keys: Any, *, bit_width: int, shape: Shape) -> list[Any]:
    impl = number_types.implementation_of(typeof(keys).dtype)
    return [_for_each(lambda key: impl.random_bits(random_unwrap(key), bit_width, shape), keys)]


def _split_type(keys: ShapedArray, *, shape: Shape) -> Avals:
    _require_keys(random_split_p, keys)
    return [ShapedArray((*keys.shape, *shape), keys.dtype)]


def _bits_type(keys: ShapedArray, *, bit_width: int, shape: Shape) -> Avals:
    _require_keys(random_bits_p, keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits: bit_width must be 8, 16, 32 or 64, found {bit_width}")
    return [ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))]


for primitive, types, function in (
    (random_seed_p, lambda seeds, *, impl: [ShapedArray(seeds.shape, impl.dtype)], _seeded),
    (random_split_p, _split_type, _split_keys),
    (random_bits_p, _bits_type, _bits),
):
    declare(
        primitive,
        abstract_eval=types,
        lower=lower_by(function),
        vmap=leading_batch(primitive),
        sharding=by_batch(primitive, 0),
    )


def _fold_in_type(keys: ShapedArray, data: ShapedArray) -> Avals:
    """The type of `fold_in`: along each axis, one of the two sizes may be 1."""
    _require_keys(random_fold_in_p, keys)
    shapes = [x.shape for x in (keys, data) if x.ndim]
    try:
        shape = broadcast_shapes(*shapes)
    except ValueError:
        shape = None
    if shape is None or len(set(map(len, shapes))) > 1:
        raise TypeError(f"random_fold_in: the shapes do not fit, found {keys} and {data}")
    return [ShapedArray(shape, keys.dtype)]


def _folded(keys: Any, data: Any) -> list[Any]:
    """`fold_in` mapped over the axes of both operands."""
    operands, ndims = [keys, data], [typeof(x).ndim for x in (keys, data)]
    if not any(ndims):
        impl = number_types.implementation_of(typeof(keys).dtype)
        return [random_wrap(impl.fold_in(random_unwrap(keys), data), impl)]
    sizes = [typeof(x).shape[0] if typeof(x).ndim else 1 for x in operands]
    size = 0 if 0 in sizes else max(sizes)
    axes: list[int | None] = []
    for at, ndim in enumerate(ndims):
        is_mapped = ndim > 0 and sizes[at] == size
        if ndim and not is_mapped:
            operands[at] = lax.squeeze(operands[at], (0,))
        axes.append(0 if is_mapped else None)
    return [vmap(lambda *each: _folded(*each)[0], tuple(axes))(*operands)]


def _fold_in_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], list[BatchDim]]:
    """Align the mapped axes; an operand that is not mapped gets an axis of size 1."""
    example_ndim = max(
        typeof(x).ndim - (dim is not None) for x, dim in zip(values, dims, strict=True)
    )

    def aligned(x: Any, dim: BatchDim) -> Any:
        if dim is None:
            return lax.expand_dims(x, (0,)) if typeof(x).ndim else x
        x = move_batch_dim(x, axis, dim, 0)
        return lax.expand_dims(x, range(1, 2 + example_ndim - typeof(x).ndim))

    return [bind1(random_fold_in_p, *map(aligned, values, dims))], [0]


def _fold_in_sharding(in_avals: Avals, out_avals: Avals, params: dict[str, Any]) -> list[Spec]:
    full_avals = [aval for aval in in_avals if aval.shape == out_avals[0].shape]
    columns = zip(*map(spec_of, full_avals), strict=True)
    return [agreed(random_fold_in_p, in_avals, columns)]


declare(
    random_fold_in_p,
    abstract_eval=_fold_in_type,
    lower=lower_by(_folded),
    vmap=_fold_in_vmap,
    sharding=_fold_in_sharding,
)


# Uses of random keys, for `debug_key_reuse`: a primitive that marks a key as drawn from.
#
# While the setting is on, each function of `glassjax.random` that draws from a key applies
# `key_use` to it. Its evaluation marks the key, an Array, as used. `checks` finds the
# uses in programs.


_step: ContextVar[str] = ContextVar("key_reuse_step", default="")  # "staging", "running", or empty


def looks_for_key_reuse() -> bool:
    return bool(options.key_reuse_option.value) and _step.get() != "running"


def is_staging_for_keys() -> bool:
    """Return True if a function is staged only to see which keys it uses."""
    return _step.get() == "staging"


def in_step(step: str) -> AbstractContextManager[None]:
    return set_in_context(_step, step)


class KeyUse:
    """A place where a function draws from a key."""

    def __init__(self, function: str):
        self.function = function
        self.source: Source | None = user_source()

    def __str__(self) -> str:
        return f"by `{self.function}` at {self.source or 'an unknown line'}"


_REMEDY = (
    "What is drawn from one key is not independent. Make a new key for each use, by "
    "`key, new = random.split(key)`; or, to use it again on purpose, random.clone(key)."
)


def used_twice(first: KeyUse, second: KeyUse) -> KeyReuseError:
    return KeyReuseError(f"a random key is used twice: {first}, and {second}. {_REMEDY}")


def used_in_each_iteration(loop: str, use: KeyUse) -> KeyReuseError:
    return KeyReuseError(
        f"a random key is used in each iteration of a {loop}: {use}. {_REMEDY} Carry the key "
        "through the loop, or scan over an array of keys."
    )


key_use_p = Primitive("key_use", higher_order=True)  # `use` is None where a key is cloned


def note_key_use(function: str, key: Any) -> Any:
    """Note that `function` draws from `key`, a typed key, and return the key."""
    if Switch.used and looks_for_key_reuse():
        return bind1(key_use_p, key, use=KeyUse(function))
    return key


def cloned(key: Any) -> Any:
    """A clone of `key`."""
    return bind1(key_use_p, key, use=None) if Switch.used and looks_for_key_reuse() else key


def _key_use_impl(key: Any, *, use: KeyUse | None) -> list[Any]:
    if use is not None:
        take(key, use)
    return [array.alias(key)]  # a new object counts as a new key


declare_program(
    key_use_p,
    evaluate=_key_use_impl,
    abstract_eval=lambda key, *, use: [key],
    lower=lambda b, out_avals, key, *, use: [key],
    vmap=lambda size, keys, dims, *, use: ([bind1(key_use_p, *keys, use=use)], dims),
    sharding=as_operands,
    jvp=None,
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=None,
    keys=None,
    steps=None,
)


_uses: dict[int, tuple[Any, KeyUse]] = {}  # uses of live keys, by id


def use_of(key: Any) -> KeyUse | None:
    entry = _uses.get(id(key))
    return entry[1] if entry is not None and entry[0]() is key else None


def mark(key: Any, use: KeyUse) -> None:
    def forget(_: Any, number: int = id(key)) -> None:
        _uses.pop(number, None)

    _uses[id(key)] = weakref.ref(key, forget), use


def take(key: Any, use: KeyUse) -> None:
    """Mark an Array as used; it must not be marked already."""
    earlier = use_of(key)
    if earlier is not None and earlier is not use:
        raise used_twice(earlier, use)
    mark(key, use)


# Random keys: making, splitting and converting them.
#
# A key is an element of a dtype such as `key<fry>`, which determines how bits are made from it; or,
# in the old style, an array of words of uint32, from which `config.default_prng_impl` makes bits.
# Every function takes both kinds, and returns keys of the same kind.


UINT32 = np.dtype(np.uint32)
Key = NewType("Key", array.Array)
Key.__doc__ = """An array of keys, in annotations.

>>> from glassjax import random
>>> def draw(key: random.Key) -> Array:
...     return random.normal(key)
"""

for _each in (threefry, rbg, unsafe_rbg):
    number_types.register(_each)


@hiding_frames
def key(seed: array.ArrayLike, *, impl: Any = None, dtype: Any = None) -> array.Array:
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

    >>> from glassjax import random
    >>> random.normal(random.key(0), (3,))
    Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    >>> random.key(0, impl="rbg")
    Array((), dtype=key<rbg>) overlaying:
    [0 0 0 0]
    """
    return seeded(_seed("key", seed), impl=_implementation("key", impl, dtype))


@hiding_frames
def PRNGKey(seed: array.ArrayLike, *, impl: Any = None) -> array.Array:
    """An old-style key, its words in an array of uint32.

    With `enable_custom_prng`, it is a new-style key, as `key` makes it.

    Arguments:
        seed, impl: as in `key`.

    Raises:
        TypeError, ValueError, OverflowError: as in `key`.

    >>> random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    key = seeded(_seed("PRNGKey", seed), impl=_implementation("PRNGKey", impl))
    return key if options.custom_prng.value else random_unwrap(key)


@operation(static="impl")
def seeded(seed: Any, *, impl: PRNGImpl) -> Any:
    """Keys of the implementation from an array of integers, one for each."""
    if offset := options.seed_offset.value:
        seed = lax.add(seed, typeof(seed).dtype.type(offset))
    return bind1(random_seed_p, seed, impl=impl)


@evaluated_by_library
def _seed(caller: str, seed: Any) -> Any:
    """A seed as an integer of the current width."""
    if isinstance(seed, int):
        if not -(2**63) <= seed < 2**63:
            raise OverflowError(f"{caller}: a seed has 64 bits at most, found {seed}")
        return np.int64(seed) if number_types.x64.value else np.int64(seed).astype(np.int32)
    if isinstance(seed, list | tuple):
        seed = np.asarray(seed)
    if not array.is_value(seed):
        raise TypeError(f"{caller}: a seed is an integer, found {shown(seed)}")
    aval = typeof(seed)
    if letter_of(aval.dtype) not in "iub":
        raise TypeError(f"{caller}: a seed is an integer, found {aval}")
    if aval.shape:
        raise TypeError(f"{caller}: a seed is one integer, found {aval}; map `{caller}` by vmap")
    return seed


def _implementation(caller: str, impl: Any, dtype: Any = None) -> PRNGImpl:
    """The implementation named by the user, or the default one."""
    if impl is not None and dtype is not None:
        raise ValueError(f"{caller}: impl and dtype mean the same, found {impl!r} and {dtype!r}")
    given = dtype if impl is None else impl
    if given is None:
        return options.default_implementation()
    if isinstance(given, PRNGImpl):
        return given
    if isinstance(given, np.dtype) and number_types.is_key_type(given):
        return number_types.implementation_of(given)
    if isinstance(given, str) and given in number_types.named:
        return number_types.named[given]
    error = ValueError if isinstance(given, str) else TypeError
    raise error(
        f"{caller}: impl is one of {', '.join(map(repr, number_types.named))}, found {shown(given)}"
    )


@operation(static="num")
def split(key: array.ArrayLike, num: int | tuple[int, ...] = 2) -> array.Array:
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
def fold_in(key: array.ArrayLike, data: array.ArrayLike) -> array.Array:
    """A new key, from a key and an integer.

    Arguments:
        key: the key.
        data: an integer; its low 32 bits are used.

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
    return number_types.is_key_type(typeof(key).dtype)


def _in_style_of(given: Any, keys: Any) -> Any:
    """New keys as words, if the given key is an array of words."""
    return keys if is_typed(given) or options.custom_prng.value else random_unwrap(keys)


def as_keys(caller: str, keys: Any) -> Any:
    """Typed keys from keys of either style."""
    if not array.is_value(keys):
        raise TypeError(f"{caller}: expected a key, found {shown(keys)}; random.key(0) makes one")
    if is_typed(keys):
        return keys
    implementation = options.default_implementation()
    aval, shape = typeof(keys), implementation.key_shape
    if aval.dtype != UINT32 or aval.shape[-len(shape) :] != shape:
        raise TypeError(
            f"{caller}: expected a key, or {implementation.words} words of uint32, found {aval}; "
            "random.key(0) makes one"
        )
    if options.legacy_key.value != "allow":
        message = (
            f"{caller}: expected a key, found words of uint32; random.key makes a key, and "
            'legacy_prng_key="allow" accepts words'
        )
        if options.legacy_key.value == "error":
            raise ValueError(message)
        number_types.warn(message)
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
def key_data(keys: array.ArrayLike) -> array.Array:
    """The words of keys, as an array of uint32 with one more axis, of size 2 or 4.

    >>> random.key_data(random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    return random_unwrap(as_keys("key_data", keys))


@hiding_frames
def wrap_key_data(
    key_bits_array: array.ArrayLike, *, impl: Any = None, dtype: Any = None
) -> array.Array:
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
def _wrapped(words: Any, *, impl: PRNGImpl) -> Any:
    aval, shape = typeof(words), impl.key_shape
    if aval.dtype != UINT32 or aval.shape[-len(shape) :] != shape:
        expected = ", ".join(map(str, ("...", *shape)))
        raise TypeError(f"wrap_key_data: expected uint32 of shape ({expected}), found {aval}")
    return random_wrap(words, impl)


@evaluated_by_library
def key_impl(keys: array.ArrayLike) -> Hashable:
    """The name of the implementation of these keys; itself, if it has none.

    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    found = number_types.implementation_of(typeof(as_keys("key_impl", keys)).dtype)
    return found.name if number_types.named.get(found.name) == found else found


@hiding_frames
def key_dtype(impl_spec: Any = None) -> np.dtype[Any]:
    """The dtype of keys, by the name of their implementation.

    >>> random.key(0).dtype == random.key_dtype()
    True
    """
    return _implementation("key_dtype", impl_spec).dtype


@evaluated_by_library
def clone(key: array.ArrayLike) -> array.Array:
    """The same key, for code that deliberately uses a key twice.

    >>> key = random.key(0)
    >>> random.normal(key) == random.normal(random.clone(key))
    Array(True, dtype=bool)
    """
    as_keys("clone", key)
    return cloned(key) if isinstance(key, stage2.Tracer | array.Array) else lax.full_like(key, key)


# Random bits.


ShapeOrSize = int | Sequence[int]


@operation(static=("shape", "dtype", "out_sharding"))
def bits(
    key: array.ArrayLike, shape: ShapeOrSize = (), dtype: Any = None, *, out_sharding: Any = None
) -> array.Array:
    """Random bits.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: an unsigned integer; of 32 bits by default, or 64 with `enable_x64`.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: `dtype` is not unsigned, or `key` more than one key.

    >>> random.bits(random.key(0), (2,)), random.bits(random.key(0), (2,), "uint8")
    (Array([4070199207, 4202968722], dtype=uint32), Array([167, 146], dtype=uint8))
    """
    dtype = dialect().dtype_of("bits", f"uint{dialect().bits}" if dtype is None else dtype)
    if letter_of(dtype) != "u":
        raise ValueError(f"bits: expected a dtype of unsigned integers, found {dtype}")
    drawn = random_bits(single_key("bits", key), dtype.itemsize * 8, sizes_of("bits", shape))
    return drawn if dtype.itemsize * 8 == bits_of(dtype) else stage2.astype(drawn, dtype)


def random_bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    """Unsigned integers of `width` random bits from a single typed key."""
    return bind1(random_bits_p, key, bit_width=width, shape=tuple(shape))


# Implementations of keys that a library defines, as `jax.extend.random` has them.


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[array.Array], array.Array],
    split: Callable[[array.Array, tuple[int, ...]], array.Array],
    random_bits: Callable[[array.Array, int, tuple[int, ...]], array.Array],
    fold_in: Callable[[array.Array, array.Array], array.Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> Hashable:
    """An implementation of random keys, for the argument `impl` of `random.key`.

    Its functions work on the words of one key, an array of uint32.

    Arguments:
        key_shape: the shape of the words, four at most.
        seed: function from an integer to a key.
        split: function from a key and a shape to new keys, of shape `(*shape, *key_shape)`.
        random_bits: function from a key, a width of 8, 16, 32 or 64, and a shape to an array of
            unsigned integers of that width.
        fold_in: function from a key and an integer of uint32 to a key.
        name: what `repr` shows of it.
        tag: what the dtype of keys shows of it.

    Raises:
        NotImplementedError: a key has more than four words.

    >>> from glassjax import random
    >>> squares = define_prng_impl(
    ...     key_shape=(1,),
    ...     seed=lambda seed: jnp.uint32(seed).reshape(1),
    ...     split=lambda key, shape: key + jnp.arange(np.prod(shape), dtype="uint32").reshape(
    ...         *shape, 1
    ...     ),
    ...     random_bits=lambda key, width, shape: jnp.full(shape, key[0] ** 2, f"uint{width}"),
    ...     fold_in=lambda key, data: key + data,
    ... )
    >>> random.bits(random.key(3, impl=squares), (2,))
    Array([9, 9], dtype=uint32)
    """
    made = PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)
    _ = made.dtype
    return made


@hiding_frames
def random_seed(seeds: array.ArrayLike, impl: PRNGImpl) -> array.Array:
    """Keys made from integers, one for each.

    Arguments:
        seeds: an array of integers.
        impl: the implementation: one of those here, or what `define_prng_impl` returns.

    >>> random_seed(np.arange(3), rbg).shape
    (3,)
    """
    return seeded(array.to_array(np.int64(seeds) if isinstance(seeds, int) else seeds), impl=impl)


def seed_with_impl(impl: PRNGImpl, seed: array.ArrayLike) -> array.Array:
    """`random_seed` with its arguments in the other order.

    >>> seed_with_impl(threefry, 42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    return random_seed(seed, impl)

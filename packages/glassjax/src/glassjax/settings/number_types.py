"""The types of numbers and keys, and their promotion."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from functools import cache, cached_property, lru_cache, wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax.settings.config import Option, config
from glassjax.settings.names import later
from glassjax.settings.tracers import Tracer, library_function, library_interpreter
from glassjax_stage2 import ShapedArray, astype, bind1, promotion, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.primitives import convert_element_type_p
from glassjax_stage2.source import user_source

if TYPE_CHECKING:
    from glassjax.runtime.array import Array


# The dtypes of random keys, one for each implementation of random numbers.
#
# The elements are not numbers. XLA stores a key as a single number of 32 or 64 bits, or, lacking
# wider integers, as a complex number of 128 bits. So operations that only move elements (reshape,
# indexing, select, loops that carry keys) treat keys like any other array, and operations that
# compute with numbers reject them.


_ELEMENTS = {1: np.uint32, 2: np.uint64, 3: np.complex128, 4: np.complex128}  # by words

# The dtypes of arrays whose elements are not numbers: structured, with one field of that name.
no_numbers: set[np.dtype[Any]] = {stage2.shaped_array.float0}


class PRNGImpl(NamedTuple):
    """Functions of a random number generator; here keys are arrays of uint32, their words.

    Attributes:
        key_shape: the shape of the words of a key.
        seed: function from an integer to a key.
        split: function from a key and a shape to that many keys.
        random_bits: function from a key, 8, 16, 32 or 64, and a shape to integers of that width.
        fold_in: function from a key and an integer to another key.
        name: its name in `key(seed, impl=name)`.
        tag: its part of the dtype's name, `key<tag>`.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str = "<unnamed>"
    tag: str = "?"

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"PRNGImpl({self.name!r})"

    def __reduce__(self) -> Any:
        if named.get(self.name) is self:
            return implementation_named, (self.name,)
        return PRNGImpl, tuple(self)

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return math.prod(self.key_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of these keys.

        Raises:
            NotImplementedError: a key has more than four words, or none.
        """
        found = _dtypes.get(self)
        return _new_dtype(self) if found is None else found


named: dict[str, PRNGImpl] = {}  # implementations that users can name
_dtypes: dict[PRNGImpl, np.dtype[Any]] = {}
_implementations: dict[np.dtype[Any], PRNGImpl] = {}


def _new_dtype(implementation: PRNGImpl) -> np.dtype[Any]:
    element = _ELEMENTS.get(implementation.words)
    if element is None:
        raise NotImplementedError(
            f"a random key has 1 to 4 words here, found key_shape {implementation.key_shape}"
        )
    name = f"key<{implementation.tag}>"
    dtype = np.dtype([(name, element)])
    if dtype in _implementations:  # a redefinition with the same tag; numpy compares titles, too
        dtype = np.dtype([((str(len(_implementations)), name), element)])
    no_numbers.add(dtype)
    _implementations[dtype] = implementation
    _dtypes[implementation] = dtype
    return dtype


def register(implementation: PRNGImpl) -> PRNGImpl:
    """Let users choose the implementation by its name."""
    named[implementation.name] = implementation
    _ = implementation.dtype
    return implementation


def implementation_named(name: str) -> PRNGImpl:
    return named[name]


def is_key_type(dtype: np.dtype[Any]) -> bool:
    return dtype.names is not None and dtype in _implementations


def implementation_of(dtype: np.dtype[Any]) -> PRNGImpl:
    """The implementation of keys of a dtype."""
    return _implementations[dtype]


def host_words(numbers: np.ndarray[Any, Any], aval: ShapedArray) -> np.ndarray[Any, Any]:
    """The words of keys that the device stores as `numbers`: the last word comes first."""
    implementation = implementation_of(aval.dtype)
    words = np.ascontiguousarray(numbers).view(np.uint32)
    words = words.reshape(*aval.shape, -1)[..., : implementation.words][..., ::-1]
    return words.reshape(*aval.shape, *implementation.key_shape)


class extended(np.generic):
    """The scalar type of all dtypes that numpy lacks, for `issubdtype` only.

    >>> glassjax.dtypes.issubdtype(random.key(0).dtype, glassjax.dtypes.extended)
    True
    """


class prng_key(extended):
    """The scalar type of random keys, for `issubdtype` only.

    >>> import glassjax
    >>> glassjax.dtypes.issubdtype(glassjax.random.key(0).dtype, prng_key)
    True
    """


# The number types of this library: their widths and their promotion.
#
# Settings decide both. An object represents the values of these settings; everything that depends
# on them, including traced and compiled programs, is cached by this object.


class TypePromotionError(ValueError):
    """The dtypes of operands have no implicit promotion."""

    __module__ = "glassjax.errors"  # its name in tracebacks


class Settings(NamedTuple):
    """The values of the settings that affect programs, part of every cache key."""

    enable_x64: bool = False
    numpy_dtype_promotion: str = "standard"
    numpy_rank_promotion: str = "allow"
    default_matmul_precision: str | None = None
    enable_custom_prng: bool = False
    default_prng_impl: str = "threefry2x32"
    threefry_partitionable: bool = True
    legacy_prng_key: str = "allow"
    explicit_x64_dtypes: str = "warn"
    check_static_indices: bool = False
    random_seed_offset: int = 0
    allow_f16_reductions: bool = True
    gpu_deterministic_ops: bool = False
    debug_nans: bool = False
    debug_infs: bool = False
    no_collectives: frozenset[Any] = frozenset()
    nested_calls: bool = False
    user_contexts: frozenset[tuple[Any, Any]] = frozenset()


_WIDE = map(np.dtype, ("int64", "uint64", "float64", "complex128"))
# On some platforms, long doubles are ordinary doubles.
_LONG = {np.longdouble, np.clongdouble} - {np.float64, np.complex128}
_NARROW = dict(zip(_WIDE, map(np.dtype, ("int32", "uint32", "float32", "complex64")), strict=True))


_array_of = later("glassjax.runtime.array", "from_numpy")
_interpreter_with_origins = later("glassjax.runtime.origins", "interpreter_with_origins")
_is_symbolic_dim = later("glassjax.dimensions.expressions", "is_symbolic_dim")


def parse_dtype(caller: str, given: Any) -> np.dtype[Any]:
    """A dtype given in one of numpy's ways, except those for structured dtypes.

    Raises:
        TypeError: it is not a dtype.
    """
    if isinstance(given, np.dtype):
        return given
    if not hasattr(given, "aval") and not isinstance(given, list | dict | tuple):
        with suppress(TypeError, ValueError, AttributeError):
            dtype: np.dtype[Any] = np.dtype(given)
            return dtype
    raise TypeError(
        f"{caller}: dtype must be a dtype or the name of one, such as 'float32', found "
        f"{shown(given)}"
    )


class LibraryDialect(stage2.shaped_array.Dialect):
    """Number types of 32 bits unless `enable_x64` is set, with weak arrays.

    Attributes:
        settings: the values of the settings that they depend on.
        checks_arguments: whether settings forbid some promotions, and the arrays are the user's:
            arguments of a function that the user has called, or any array in the user's code.
        in_function: the number types inside a library function that is called under these.
    """

    checks_operators = checks_arguments = False
    compares_weakly = True
    interpreter: Any = staticmethod(library_interpreter)
    function: Any = staticmethod(library_function)
    in_function: LibraryDialect

    def __init__(self, settings: Settings):
        super().__init__(64 if settings.enable_x64 else 32)
        self.settings = settings
        self.converts_weak = settings.nested_calls
        self.in_function = self
        if settings.debug_nans or settings.debug_infs:
            self.interpreter = _interpreter_with_origins
        if settings.numpy_dtype_promotion == "strict" or settings.numpy_rank_promotion != "allow":
            self._let_only_users_be_checked()

    @cached_property
    def keeping_weak(self) -> LibraryDialect:
        """These number types, but weak arrays that have the right dtype are not converted."""
        keeping = copy(self)
        keeping.converts_weak = False
        return keeping

    @cached_property
    def adding_plainly(self) -> LibraryDialect:
        """These number types, but tangents are summed by `add`, as in the rules of users."""
        adding = copy(self)
        adding.function = lambda function: function
        return adding

    def number(self, x: Any, target: ShapedArray) -> Any:
        if self.converts_weak and not target.weak_type:
            return self.scalar(x, target.dtype)
        return super().number(x, target)

    def _let_only_users_be_checked(self) -> None:
        """Check the promotion of values that the user passes, but not of values computed from them.

        So there are three levels: in the user's code, every promotion is checked; in a function
        that it calls, the promotion of arguments; in functions that those call, nothing.
        """
        check_operators_of_tracers()
        self.checks_operators = self.checks_arguments = True
        called, inside = copy(self), copy(self)
        called.checks_operators = inside.checks_operators = False
        inside.checks_arguments = False
        self.in_function, called.in_function, inside.in_function = called, inside, inside

    def remedy(self, x: Any) -> str:
        """Advice about `x`, which is not an array."""
        if own := getattr(type(x), "remedy_for_arrays", ""):
            return str(own)
        if isinstance(x, np.ma.MaskedArray):
            return (
                "The mask of a masked array would be lost: x.filled(number) puts a number in the "
                "place of masked elements."
            )
        if isinstance(x, np.matrix):
            return (
                "A matrix keeps two axes whatever is computed with it: numpy.asarray(x) makes it "
                "an ordinary array."
            )
        if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
            return "It belongs to JAX itself: numpy.asarray(x) makes it an array."
        if hasattr(type(x), "__array__") or isinstance(x, memoryview):
            return "numpy.asarray(x) makes it an array."
        if isinstance(x, Sequence) and not isinstance(x, str | bytes):
            return "jnp.array(...) makes it an array."
        if isinstance(x, Mapping):
            return "Take the values of a dict by key, or all at once by tree_map."
        if x is None:
            return "A function that ends without `return` gives None."
        return "Call it, and use what it returns." if callable(x) else ""

    def int_type(self, x: int) -> ShapedArray:
        try:
            return super().int_type(x)
        except OverflowError as error:
            if self.settings.enable_x64:
                raise
            raise OverflowError(
                f"{error}, or glassjax.config.update('enable_x64', True), or the environment "
                "variable GLASSJAX_ENABLE_X64=1, which gives numbers 64 bits"
            ) from None

    def index(self, x: Any) -> int:
        """As in numpy, except that symbolic sizes stay what they are."""
        if type(x) is int or _is_symbolic_dim(x):
            return x
        return int(operator.index(x))

    @lru_cache(maxsize=4096)  # noqa: B019
    def result_type(self, *avals: ShapedArray) -> ShapedArray:
        """As in numpy, except that narrow floats and integers promote only with weak types."""
        self._require_path(avals)
        try:
            kind, dtype = stage2.shaped_array.promoted(avals)
        # float32 holds the numbers of both.
        except np.exceptions.DTypePromotionError:  # two different narrow floats
            wide = [aval for aval in avals if aval.dtype.isbuiltin == 1]
            kind, dtype = stage2.shaped_array.promoted([*wide, ShapedArray((), np.float32)])
        if dtype is None:  # Python numbers decide
            return self.weak[kind]
        keeps = self.settings.explicit_x64_dtypes == "allow" or len({x.dtype for x in avals}) == 1
        return ShapedArray((), dtype if keeps else self.in_memory(dtype))

    @lru_cache(maxsize=256)  # noqa: B019
    def in_memory(self, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """As in numpy, except that keys and tokens have dtypes, too, and long doubles have none."""
        if dtype in no_numbers:
            return dtype
        found = super().in_memory(dtype)
        if found is None or found.type in _LONG:
            return None
        return found if self.settings.enable_x64 else _NARROW.get(found, found)

    def with_shape(self, aval: ShapedArray, shape: stage2.shaped_array.Shape) -> ShapedArray:
        """The type of the elements of `aval` in another shape: arrays may be weak, too."""
        return aval.update(shape=shape)

    def dtype_of(self, caller: str, given: Any) -> np.dtype[Any]:
        """The dtype, or its 32-bit counterpart, depending on `explicit_x64_dtypes`."""
        if isinstance(given, np.dtype) and self.in_memory(given) is given:
            return given
        found, dtype = super().dtype_of(caller, given), parse_dtype(caller, given)
        is_pythons = any(given is scalar for scalar in stage2.shaped_array.python_scalars)
        if found.itemsize >= dtype.itemsize or is_pythons:
            return found
        if self.settings.explicit_x64_dtypes == "allow":
            return dtype
        remedy = (
            "glassjax.config.update('enable_x64', True), or the environment variable "
            "GLASSJAX_ENABLE_X64=1, gives numbers 64 bits; explicit_x64_dtypes='allow' those for "
            "which they are requested"
        )
        requested = f"{caller}: dtype {dtype} was requested, but numbers have 32 bits here"
        if self.settings.explicit_x64_dtypes == "error":
            raise ValueError(f"{requested}. {remedy}")
        warn(f"{requested}, so it is truncated to {found}. {remedy}")
        return found

    def scalar(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """A Python number as a scalar of `dtype`: ints wrap around, as in arrays."""
        # An Array keeps 64 bits; a numpy scalar of 64 bits would be narrowed where it is used.
        value = self._scalar(x, dtype)
        return value if self.in_memory(dtype) == dtype else _array_of(value, weak_type=False)

    def _scalar(self, x: Any, dtype: np.dtype[Any]) -> Any:
        if dtype.kind in "fc":
            with np.errstate(over="ignore"):  # overflow gives infinity
                return dtype.type(x)
        try:
            return dtype.type(x)
        except OverflowError:
            return np.asarray(x).astype(dtype)[()]
        except (TypeError, ValueError) as error:  # from a complex number or NaN
            raise type(error)(f"{x} cannot be converted to {dtype}") from None

    def _require_path(self, avals: Sequence[ShapedArray]) -> None:
        """Numbers of less than a byte and floats of a byte promote only with weak types."""
        for alone in avals:
            if alone.dtype.isbuiltin != 2 or alone.dtype.name == "bfloat16" or alone.weak_type:
                continue
            for other in avals:
                kind_differs = stage2.shaped_array.kind_of(
                    other.dtype
                ) - stage2.shaped_array.kind_of(alone.dtype)
                promotes = other.dtype == alone.dtype or (kind_differs <= 0 and other.weak_type)
                if not promotes and (kind_differs >= 0 or other.dtype.isbuiltin == 2):
                    raise TypePromotionError(
                        f"{alone.dtype} and {other.dtype} have no implicit promotion: convert one "
                        f"of them, as in x.astype({str(other.dtype)!r})"
                    )

    def check_promotion(self, avals: Sequence[ShapedArray]) -> None:
        self.check_dtypes(avals)
        self.check_ranks(avals)

    def check_dtypes(self, avals: Sequence[ShapedArray]) -> None:
        """Raise an error if the settings forbid promoting these to one dtype."""
        if self.settings.numpy_dtype_promotion == "strict":
            _require_no_promotion(avals)

    def check_ranks(self, avals: Sequence[ShapedArray]) -> None:
        """Raise an error if the settings forbid broadcasting these to one shape."""
        if self.settings.numpy_rank_promotion == "allow":
            return
        if len({aval.ndim for aval in avals if aval.shape}) > 1:
            shapes = " and ".join(str(aval.shape) for aval in avals)
            self._warn_rank_promotion(f"operands of shapes {shapes} have different numbers of axes")

    def check_counts(self, caller: str, leading: Sequence[int]) -> None:
        """Raise an error if the settings forbid broadcasting these numbers of leading axes."""
        if self.settings.numpy_rank_promotion != "allow" and len(set(leading)) > 1:
            counts = " and ".join(map(str, leading))
            self._warn_rank_promotion(
                f"{caller}: operands have different numbers of axes, {counts}"
            )

    def _warn_rank_promotion(self, found: str) -> None:
        if self.settings.numpy_rank_promotion == "raise":
            raise ValueError(
                f"{found}, and numpy_rank_promotion is 'raise'. Add axes by x[None] or "
                "jnp.expand_dims, or set it to 'allow'"
            )
        warn(f"{found}; those that lack are added in front. numpy_rank_promotion='allow' allows it")


_OPERATORS = tuple(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "pow", "matmul")
    for prefix in ("", "r")
) + tuple(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge"))


@cache
def check_operators_of_tracers() -> None:
    """Let operators of tracers check promotion from now on; operators of arrays always do."""
    for name in _OPERATORS:
        setattr(Tracer, name, _checked_operator(name, getattr(Tracer, name)))


def _checked_operator(name: str, operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    is_product = "matmul" in name  # a matrix and a vector have a product
    check = LibraryDialect.check_dtypes if is_product else LibraryDialect.check_promotion

    @wraps(operator)
    def checked_operator(x: Any, y: Any) -> Any:
        numbers = stage2.shaped_array.dialect()
        if (
            isinstance(numbers, LibraryDialect)
            and numbers.checks_operators
            and stage2.shaped_array.has_type(y)
        ):
            check(numbers, (typeof(x), typeof(y)))
        return operator(x, y)

    return checked_operator


class set_number_types:
    """A context with the library's number types; elsewhere they are numpy's."""

    __slots__ = ("chosen", "previous")

    def __init__(self, chosen: stage2.shaped_array.Dialect):
        self.chosen = chosen

    def __enter__(self) -> None:
        self.previous = stage2.shaped_array.dialect_in_force.get()
        stage2.shaped_array.dialect_in_force.set(self.chosen)

    def __exit__(self, *exception: object) -> None:
        stage2.shaped_array.dialect_in_force.set(self.previous)


# The warnings of a function that runs only to be staged.
withheld_warnings: ContextVar[list[str] | None] = ContextVar("withheld_warnings", default=None)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line."""
    withheld = withheld_warnings.get()
    if withheld is not None:
        withheld.append(message)
        return
    source = user_source()
    if source is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        warnings.warn_explicit(message, category, source.code.co_filename, source.line)


def warn_of_lost_part(
    caller: str, x: Any, dtype: Any, category: type[Warning], kept: str = "cV"
) -> None:
    """Warn if `x` is a complex array, and `dtype` is not of one of the kinds `kept`."""
    is_complex = getattr(getattr(x, "dtype", None), "kind", "") == "c"
    if is_complex and dtype is not None and parse_dtype(caller, dtype).kind not in kept:
        warn(f"{caller} drops the imaginary part of complex numbers; take x.real", category)


def _require_no_promotion(avals: Sequence[ShapedArray]) -> None:
    strong = {aval.dtype for aval in avals if not aval.weak_type}
    weak = max(
        (stage2.shaped_array.kind_of(aval.dtype) for aval in avals if aval.weak_type), default=0
    )
    lost = {dtype for dtype in strong if stage2.shaped_array.kind_of(dtype) < weak}
    if len(strong) > 1 or lost:
        shown = ", ".join(f"{aval.dtype}{' (weak)' if aval.weak_type else ''}" for aval in avals)
        raise TypePromotionError(
            f"operands of dtypes {shown} need promotion, and numpy_dtype_promotion is "
            "'strict'. Convert them by x.astype(dtype), or set it to 'standard'"
        )


def types_here() -> LibraryDialect:
    """The number types of the running code: a function of the library, or the user's."""
    numbers = stage2.shaped_array.dialect()
    return library_number_types() if numbers is stage2.shaped_array.numpys_dialect else numbers  # type: ignore[return-value]


def types_in_function() -> LibraryDialect:
    """The number types in a function of the library that is called here."""
    return types_here().in_function


# One object, with its caches, for each combination of settings.
_dialect_for = lru_cache(maxsize=None)(LibraryDialect)

Overrides = frozenset[tuple[str, Any]]  # names of settings, and their values in a block


class _InForce:
    """The number types under some overrides; all other settings have their global values."""

    __slots__ = ("numbers", "overrides")

    def __init__(self, overrides: Overrides):
        self.overrides = overrides
        self.follow(Settings())

    def follow(self, global_values: Settings) -> None:
        self.numbers = _dialect_for(global_values._replace(**dict(self.overrides)))


_globally = _InForce(frozenset())
settings_in_force: ContextVar[_InForce] = ContextVar("library_number_types", default=_globally)

# All combinations that were ever in force. Each caches its number types, since these are looked up
# in every call, while settings rarely change.
_known = {_globally.overrides: _globally}
_changing = Lock()


def library_number_types() -> LibraryDialect:
    """The number types chosen by the settings."""
    return settings_in_force.get().numbers


def _under(overrides: Overrides) -> _InForce:
    with _changing:
        if overrides not in _known:
            found = _known[overrides] = _InForce(overrides)
            found.follow(_globally.numbers.settings)
        return _known[overrides]


def _put_in_force(overrides: Overrides) -> None:
    settings_in_force.set(_under(overrides))
    _update_running_types()


def _update_running_types() -> None:
    """Return the library's number types if one of its functions is running."""
    if stage2.shaped_array.dialect() is not stage2.shaped_array.numpys_dialect:
        set_number_types(library_number_types()).__enter__()


class NumbersOption(Option):
    """A setting that is stored with the number types, so that one lookup finds them all."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.update(self._everywhere)  # possibly from the environment

    @property
    def value(self) -> Any:
        return getattr(library_number_types().settings, self.name)

    @property
    def everywhere(self) -> Any:
        """The value outside blocks that override it."""
        return getattr(_globally.numbers.settings, self.name)

    def update(self, value: Any) -> None:
        changed = {self.name: self._checked(value)}
        with _changing:
            global_values = _globally.numbers.settings._replace(**changed)
            for each in _known.values():
                each.follow(global_values)
        _update_running_types()

    @contextmanager
    def override(self, value: Any) -> Iterator[None]:
        value = self._checked(value)
        outside = self._overrides_of_this()
        _put_in_force(settings_in_force.get().overrides - outside | {(self.name, value)})
        try:
            yield
        finally:  # keep the other overrides in force now: blocks need not be nested
            _put_in_force(settings_in_force.get().overrides - self._overrides_of_this() | outside)

    def _overrides_of_this(self) -> Overrides:
        return frozenset(each for each in settings_in_force.get().overrides if each[0] == self.name)


x64 = config.declare(
    "enable_x64",
    bool,
    False,
    "Whether Python's numbers and numpy's of 64 bits keep 64 bits, rather than 32.",
    NumbersOption,
)
dtype_promotion = config.declare(
    "numpy_dtype_promotion",
    ("standard", "strict"),
    "standard",
    "Whether operands of different dtypes are promoted to one that holds both, or are an error.",
    NumbersOption,
)
rank_promotion = config.declare(
    "numpy_rank_promotion",
    ("allow", "warn", "raise"),
    "allow",
    "Whether operands of different ranks are broadcast, broadcast with a warning, or an error.",
    NumbersOption,
)


config.declare(
    "explicit_x64_dtypes",
    ("warn", "error", "allow"),
    "warn",
    "What a request for a dtype of 64 bits does where numbers have 32: 'allow' gives it.",
    NumbersOption,
)


allow_f16_reductions = config.declare(
    "allow_f16_reductions",
    bool,
    True,
    "Whether `reduce_sum` adds up numbers of 16 bits, or that is an error.",
    NumbersOption,
)


@lru_cache(maxsize=256)
def letter_of(dtype: np.dtype[Any]) -> str:
    """numpy's letter for the kind of a dtype: b, i, u, f, c; ml_dtypes' own `kind` is mostly V."""
    if dtype.isbuiltin != 2:  # not defined by ml_dtypes
        return dtype.kind
    return "f" if stage2.shaped_array.is_inexact(dtype) else dtype.name[0]


def bits_of(dtype: np.dtype[Any]) -> int:
    """The number of bits of a number of this dtype: 4 for int4, although it takes a byte."""
    digits = "".join(filter(str.isdigit, dtype.name.partition("_")[0]))
    return int(digits) if dtype.isbuiltin == 2 else 8 * dtype.itemsize


# Promotion of the arguments of a function, which settings may forbid.
#
# `numpy_dtype_promotion` and `numpy_rank_promotion` apply to arguments that the user passes.
# Library functions call these functions on their arguments; values computed from them promote
# freely.


def promote(*operands: Any, inexact: bool = False) -> list[Array]:
    """Arguments converted to one dtype, and to one shape or scalar, as primitives require.

    With `inexact`, that dtype is real or complex.

    Raises:
        TypePromotionError: their dtypes differ, and `numpy_dtype_promotion` is "strict".
        ValueError: their ranks differ, and `numpy_rank_promotion` is "raise".
    """
    if getattr(stage2.shaped_array.dialect(), "checks_arguments", False):
        require_promotable(*operands)
    return promotion.promote(*operands, inexact=inexact)


def result_type(*avals: ShapedArray) -> ShapedArray:
    """The promoted dtype of arguments of these types, as a scalar type, weak if all are.

    Raises:
        TypePromotionError: they differ, and `numpy_dtype_promotion` is "strict".
    """
    if numbers := _checking():
        numbers.check_dtypes(avals)
    return promotion.result_type(*avals)


def as_weak_as(aval: ShapedArray, x: Any) -> Any:
    """`x`, of the dtype of `aval`, made weak if `aval` is weak."""
    if not aval.weak_type or typeof(x).weak_type:
        return x
    return bind1(convert_element_type_p, x, new_dtype=aval.dtype, weak_type=True)


def weak_if_all_are(out: Any, *operands: Any) -> Any:
    """`out`, weak only if all operands that it was computed from are."""
    aval = typeof(out)
    if not aval.weak_type or all(typeof(x).weak_type for x in operands):
        return out
    return astype(out, aval.dtype)


def require_promotable(*operands: Any) -> None:
    """Raise an error if settings forbid promoting these arguments."""
    numbers = stage2.shaped_array.dialect()
    if getattr(numbers, "checks_arguments", False):
        numbers.check_promotion([typeof(x) for x in operands])  # type: ignore[attr-defined]


def require_no_promotion(*operands: Any) -> None:
    """Raise an error if settings forbid promoting arguments of these dtypes."""
    if numbers := _checking():
        numbers.check_dtypes([typeof(x) for x in operands])


def require_one_rank(*operands: Any) -> None:
    """Raise an error if settings forbid broadcasting arguments of these ranks."""
    if numbers := _checking():
        numbers.check_ranks([typeof(x) for x in operands])


def require_one_count(caller: str, leading: Iterable[int]) -> None:
    """Raise an error if settings forbid broadcasting these numbers of leading axes."""
    if numbers := _checking():
        numbers.check_counts(caller, list(leading))


def _checking() -> LibraryDialect | None:
    """The number types, if they restrict the promotion of arguments."""
    numbers = stage2.shaped_array.dialect()
    if isinstance(numbers, LibraryDialect) and numbers.checks_arguments:
        return numbers
    return None

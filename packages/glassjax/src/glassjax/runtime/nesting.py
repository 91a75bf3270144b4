"""Programs nested as in JAX: a call where JAX's own function is jitted.

The functions of this library are written into a program as the operations that they consist of,
which traces faster. JAX jits many of them, so that in its programs they are calls. Readers of
programs that look for these calls find them in programs that are traced in `nested_calls`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, TypeVar

from glassjax.settings.number_types import NumbersOption
from glassjax_stage2 import Primitive
from glassjax_stage2.shaped_array import dialect

Function = TypeVar("Function", bound=Callable[..., Any])

_option = NumbersOption(
    "nested_calls", bool, False, "Whether library functions that JAX jits are calls in programs."
)

# The name of a call that is transformed as a whole, but written into a program as its operations.
INLINED = ""

# By room, the functions that JAX jits; `name:other` is a call named `other`, and `name:` inlined.
_JITTED = {
    "lax": "dynamic_index_in_dim fft",
    "numpy.cases": "where:_where",
    "numpy": """
        add: allclose append argsort _at_shares:quantile atleast_1d atleast_2d atleast_3d average:
        clip convolve corrcoef count_nonzero cov cross cumprod cumsum diag:_diag diagonal diff dot:
        _einsum: flip:_flip floor_divide hypot _interp isclose isinf kron lexsort linspace:_linspace
        _logspace matmul: median mod:remainder nan_to_num _pad_with_values:_pad percentile
        polyval ptp:_ptp remainder _roll_static rot90 round searchsorted sinc
        _slide:_conv sort sorted_rows:_unique_sorted_mask _std take:_take take_along_axis trace tril
        triu _var
    """,
    "numpy.linalg": "cholesky det eigh inv norm qr slogdet solve svd",
    "jax_programs.linalg": "_lu_solve",
    "jax_programs.numpy": "_piecewise",
    "nn": """
        celu elu glu hard_tanh leaky_relu log_sigmoid log_softmax one_hot:_one_hot _relu:relu
        _relu6:relu6 selu silu soft_sign softplus standardize
    """,
    "random": """
        _bernoulli exponential:_exponential gumbel:_gumbel laplace:_laplace normal:_normal
        normal_numbers:_normal_real randint:_randint _shuffle truncated_normal:_truncated_normal
        uniform_numbers:_uniform
    """,
    "scipy.linalg": "cholesky:_cholesky expm solve_triangular:_solve_triangular",
}
_NAMES = {
    (room, name): jitted if named else name
    for room, names in _JITTED.items()
    for name, named, jitted in (each.partition(":") for each in names.split())
}


# Primitives of this library that are functions in JAX, most of them with custom derivatives. Where
# calls are nested, each is a `custom_jvp_call` with its program. These are primitives in JAX, too.
compositions: set[Primitive] = set()
_IN_JAX = {
    "bessel_i0e", "exp2", "igamma", "igamma_grad_a", "igammac", "lgamma", "log2", "mulhi",
    "one_minus_square", "square",
}  # fmt: skip


def note_composition(primitive: Primitive) -> None:
    """Add a primitive that decomposes into others to `compositions`, unless JAX has it."""
    if primitive.name not in _IN_JAX:
        compositions.add(primitive)


@contextmanager
def nested_calls() -> Iterator[None]:
    """A context in which programs are traced with a call where JAX's own function is jitted.

    Functions whose own programs here are shorter or more exact have JAX's there, too.

    >>> with nested_calls():
    ...     program = glassjax.make_jaxpr(jnp.flip)(jnp.ones(3))
    >>> program
    { lambda ; a:f32[3]. let
        b:f32[3] = jit[
          name=_flip
          jaxpr={ lambda ; a:f32[3]. let b:f32[3] = rev[dimensions=(0,)] a in (b,) }
        ] a
      in (b,) }
    """
    with _option.override(True):
        yield


def flat_calls() -> AbstractContextManager[None]:
    """A context in which library functions are not calls, as by default."""
    return _option.override(False)


class Stagings:
    """The staging of programs for readers.

    Attributes:
        nest: whether `make_jaxpr` nests calls by itself, as it does in the place of JAX's.
    """

    nest = False


def for_readers() -> AbstractContextManager[None]:
    """The context in which `make_jaxpr` stages a program."""
    return nested_calls() if Stagings.nest else nullcontext()


def nests_calls() -> bool:
    """Return True if library functions that JAX jits become calls."""
    settings = getattr(dialect(), "settings", None)
    return settings is not None and settings.nested_calls


def written_in_jax(room: str) -> Callable[[Function], Function]:
    """Decorator: where calls are nested, JAX's program of a function takes the place of its own.

    It is for functions, and rules of primitives, whose own programs are faster or more exact. The
    function that writes JAX's has the same name and arguments, in `glassjax.jax_programs`.

    Arguments:
        room: the module there, such as "numpy".
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if nests_calls():
                programs = import_module(f"glassjax.jax_programs.{room}")
                return getattr(programs, function.__name__)(*args, **kwargs)
            return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


@lru_cache(maxsize=4096)
def name_of_call(function: Callable[..., Any]) -> str | None:
    """The name of the call of a library function in JAX's programs; None if there is no call."""
    module = function.__module__.removeprefix("glassjax.")
    while module:
        if (found := _NAMES.get((module, function.__name__))) is not None:
            return found
        module = module.rpartition(".")[0]
    return None

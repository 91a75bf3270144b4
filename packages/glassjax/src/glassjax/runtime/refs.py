"""References: variables whose arrays functions may replace, also inside transformations.

A `Ref` is a Python object that holds an array. A traced function runs once, in program order, so
reading and writing need no primitives: inside the function the reference holds a tracer. There is
one exception. The body of a loop runs many times, and a jitted program is cached, so neither may
access a variable of the surrounding code. Such an access raises `OuterRefError`; the function that
stages the body catches it, makes the array an argument and a result of the program, and starts
again (`with_outer_refs`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

from glassjax.memory import Space
from glassjax.settings.config import Switch
from glassjax.settings.names import counted
from glassjax.settings.tracers import type_text
from glassjax.shardings import memories
from glassjax_stage1.interpreter import Interpreter, current_interpreter
from glassjax_stage2 import ShapedArray, Tracer, typeof
from glassjax_stage2.source import name_of, user_source
from glassjax_stage2.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import PartialEvalTrace

Result = TypeVar("Result")


class Ref:
    """A variable that holds an array of one shape and dtype, made by `new_ref`.

    `ref[...]` is its array, `ref[i]` a part of it, `ref[i] = x` replaces one.

    >>> ref = glassjax.new_ref(jnp.zeros(3))
    >>> ref[1] = 5.0
    >>> ref
    Ref([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_home", "_source", "_value")

    remedy_for_arrays = "ref[...] reads its array."  # in errors about values that are not arrays

    def __init__(self, value: Any):
        self._value = value
        self._home = current_interpreter()
        self._source = user_source()
        Switch.used = True  # from now on, jitted functions look for references in their arguments

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a reference cannot be pickled, for others would not see what is written to it. Pickle "
            "its array, ref[...], and make another one of it by new_ref"
        )

    @property
    def aval(self) -> "AbstractRef":
        """The type of the reference."""
        inner_aval = typeof(self._value)
        space = memories.space_of(inner_aval)
        if space is Space.Device:
            return AbstractRef(inner_aval)
        return AbstractRef(memories.in_space(inner_aval, Space.Device), space)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of its array."""
        return typeof(self._value).shape

    @property
    def dtype(self) -> Any:
        """The dtype of its array."""
        return typeof(self._value).dtype

    @property
    def ndim(self) -> int:
        """The number of axes of its array."""
        return typeof(self._value).ndim

    @property
    def size(self) -> int:
        """The number of elements of its array."""
        return typeof(self._value).size

    def read(self) -> Any:
        """The array, moved to the memory of its devices.

        Raises:
            OuterRefError: the running code may run again, and the reference is from outside it.
        """
        return memories.moved(self.contents(), Space.Device)

    def contents(self) -> Any:
        """The array, in the memory of the reference; raises the errors of `read`."""
        self._require_here()
        return self._value

    def write(self, value: Any) -> None:
        """Replace the array by one of the same type, moved to the memory of the reference.

        Raises:
            OuterRefError: as for `read`.
            ValueError: `value` belongs to a transformation that does not know the reference.
        """
        self._require_here()
        if isinstance(value, Tracer):
            owner, home = value.interpreter, self._home
            # The reference would hold the tracer of a trace that ends before its own code does.
            if owner not in home.stack():
                raise ValueError(
                    f"{self.described()}: the value that is written belongs to the {owner}, and "
                    "the reference was made outside of that. Make the reference in the function, "
                    "pass it as an argument, or write lax.stop_gradient of the value where it is "
                    "differentiated."
                )
        self._value = memories.moved(value, memories.space_of(typeof(self._value)))

    def end(self) -> None:
        """Drop the array; the reference can no longer be read or written."""
        self._require_here()
        self._value = _NOTHING

    def described(self) -> str:
        """The reference, for messages."""
        return f"the reference of type {self.aval} that was made at {self._source}"

    def _require_here(self) -> None:
        if self._value is _NOTHING:
            raise ValueError(f"a reference made at {self._source} was ended by free_ref")
        if self._value is _LENT:
            raise ValueError(
                f"a reference made at {self._source} is an argument of a function that also closes "
                "over it; use one of both"
            )
        here, home = staging_of(current_interpreter()), staging_of(self._home)
        if here is home:
            return
        if home is not None and (home.ended or here is None or home not in here.stack()):
            raise ValueError(
                f"{self.described()} belongs to the {home}, which has ended or does not run here. "
                "Return the array, ref[...], in place of the reference."
            )
        raise OuterRefError(self, str(here))


_NOTHING, _LENT = object(), object()  # contents of references that cannot be read


class AbstractRef:
    """The type of a reference, with the type that its array has when it is read.

    Attributes:
        memory_space: the memory that holds the array; None for the memory of the devices.
    """

    def __init__(self, inner_aval: ShapedArray, memory_space: Space | None = None):
        self.inner_aval = inner_aval
        self.memory_space = memory_space

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of the array."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the array."""
        return self.inner_aval.ndim

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractRef and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval, self.memory_space))

    def __repr__(self) -> str:
        space = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{space}{{{type_text(self.inner_aval)}}}"


class OuterRefError(ValueError):
    """A function that is being staged accessed a reference of the surrounding code."""

    def __init__(self, ref: Ref, staging: str):
        super().__init__(
            f"{ref.described()} is used inside of another function ({staging}), which cannot "
            "return what becomes of it. Pass ref[...] to the function, and return its new value."
        )
        self.ref = ref


def staging_of(interpreter: Interpreter | None) -> Interpreter | None:
    """The innermost interpreter that stages a program to be run later, from an interpreter
    downwards; None if there is none."""
    while interpreter is not None:
        # Partial evaluation stages only the operations on unknown values; the function itself runs
        # now, once, so its references can be read and written.
        if isinstance(interpreter, JaxprTrace) and not isinstance(interpreter, PartialEvalTrace):
            return interpreter
        interpreter = interpreter.parent
    return None


def values_of(refs: Sequence[Ref]) -> list[Any]:
    """The arrays that the references hold."""
    return [ref.contents() for ref in refs]


def write_all(refs: Sequence[Ref], values: Sequence[Any]) -> None:
    """Let the references hold these arrays."""
    for ref, value in zip(refs, values, strict=True):
        ref.write(value)


@contextmanager
def holding(refs: Sequence[Ref], values: Sequence[Any]) -> Iterator[None]:
    """A context in which the references belong to the running code and hold `values`."""
    before = [(ref._value, ref._home) for ref in refs]
    here = current_interpreter()
    try:
        for ref, value in zip(refs, values, strict=True):
            ref._value, ref._home = value, here
        yield
    finally:
        for ref, (value, home) in zip(refs, before, strict=True):
            ref._value, ref._home = value, home


@contextmanager
def lending(refs: Sequence[Ref]) -> Iterator[list[Any]]:
    """A context in which only the function that was given the arrays can access them."""
    values = values_of(refs)
    try:
        for ref in refs:
            ref._value = _LENT
        yield values
    finally:
        for ref, value in zip(refs, values, strict=True):
            ref._value = value


def passing(refs: Sequence[Ref], fun: Callable[..., Any]) -> Callable[..., tuple[list[Any], Any]]:
    """`fun` with the references' arrays as a further first argument and first result."""

    def pass_values(values: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[list[Any], Any]:
        with holding(refs, values):
            out = fun(*args, **kwargs)
            require_no_refs(fun, out)
            return values_of(refs), out

    pass_values.__name__ = name_of(fun)
    return pass_values


def with_outer_refs(stage: Callable[[Sequence[Ref]], Result]) -> Result:
    """The result of `stage(refs)`, which stages functions that use no other outer references."""
    refs: list[Ref] = []
    while True:
        try:
            return stage(refs)
        except OuterRefError as outer:
            ref = outer.ref
            if ref in refs:
                raise
        ref.contents()  # raises if the next enclosing function has to pass it on
        refs.append(ref)


def require_no_refs(fun: Callable[..., Any], out: Any) -> None:
    """Raise an error if the result of a function holds a reference."""
    for leaf in tree_leaves(out):
        if isinstance(leaf, Ref):
            raise ValueError(
                f"`{name_of(fun)}` returns {leaf.described()}, and a reference cannot be returned. "
                "Return its array, ref[...]."
            )


class Places(NamedTuple):
    """The positions of references among the leaves of a tree."""

    structure: PyTreeDef
    are_refs: tuple[bool, ...]

    def join(self, refs: Iterable[Any], rest: Iterable[Any]) -> Any:
        """The tree with these references, and these other leaves."""
        refs, rest = iter(refs), iter(rest)
        leaves = [next(refs if is_ref else rest) for is_ref in self.are_refs]
        return tree_unflatten(self.structure, leaves)


def split_refs(caller: str, tree: Any) -> tuple[list[Ref], list[Any], Places]:
    """The references among the leaves of a tree, the other leaves, and their positions.

    Raises:
        ValueError: a reference occurs twice.
    """
    leaves, structure = tree_flatten(tree)
    places = Places(structure, tuple([isinstance(leaf, Ref) for leaf in leaves]))
    if True not in places.are_refs:
        return [], leaves, places
    refs = [leaf for leaf in leaves if isinstance(leaf, Ref)]
    for number, ref in enumerate(refs):
        if ref in refs[:number]:
            raise ValueError(f"{caller}: {ref.described()} is passed twice; pass it once")
    return refs, [leaf for leaf in leaves if not isinstance(leaf, Ref)], places


def closing_over_refs(
    caller: str, functions: Sequence[Callable[..., Any]], args: Sequence[Any]
) -> tuple[list[Callable[..., Any]], list[Any]] | None:
    """The functions, closed over the references, and other arguments; None without references."""
    refs, rest, places = split_refs(caller, tuple(args))
    if not refs:
        return None

    def closing_over(fun: Callable[..., Any]) -> Callable[..., Any]:
        def with_refs(*rest: Any) -> Any:
            return fun(*places.join(refs, rest))

        with_refs.__name__ = name_of(fun)
        return with_refs

    return [closing_over(fun) for fun in functions], rest


def call_with_refs(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result, in a tuple, of a jitted function that is given references or uses outer ones.

    Arguments:
        function: the jitted function, with a list of its `outer_refs`.

    Raises:
        ValueError: a reference is given twice, or is both an argument and an outer one.
    """
    static, args, kwargs = function.static_arguments.split(args, kwargs)
    caller = f"jit of `{name_of(function)}`"
    given, rest, places = split_refs(caller, (args, kwargs))
    outer: list[Ref] = function.outer_refs
    if not given and not outer:
        return None
    return (_run_with_refs(function.program_with_refs(static, places), given, outer, rest),)


def _run_with_refs(
    program: Callable[..., Any], given: Sequence[Ref], outer: Sequence[Ref], rest: Sequence[Any]
) -> Any:
    """Run a program on the references' arrays, store their new arrays, and return the result."""
    with lending(given) as values:
        values, out = program([*values, *values_of(outer)], rest)
    write_all([*given, *outer], values)
    return out


class RefsOfCall(NamedTuple):
    """The references of a compiled function: in its arguments, and outer ones."""

    places: Places
    outer: tuple[Ref, ...]

    def call(self, caller: str, program: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of the compiled program on their arrays.

        Raises:
            TypeError: the arguments have references elsewhere than at compilation.
        """
        given, rest, places = split_refs(caller, (args, kwargs))
        if places != self.places:
            count = counted(sum(self.places.are_refs), "reference")
            raise TypeError(
                f"{caller} was compiled for arguments of structure "
                f"{self.places.structure}, with {count} "
                f"among its leaves, called with {places.structure}, found "
                f"{sum(places.are_refs)}"
            )
        return _run_with_refs(program, given, self.outer, rest)


def program_with_refs(
    fun: Callable[..., Any], places: Places, outer: Sequence[Ref]
) -> Callable[..., Any]:
    """`fun` as a function of its references' arrays, given and outer ones, and of other arguments.

    It also returns their final arrays.
    """

    def values_program(references: Sequence[Any], others: Sequence[Any]) -> tuple[list[Any], Any]:
        count = sum(places.are_refs)
        # New objects, since a reference belongs to the trace in which it was made (`_home`).
        given = [Ref(value) for value in references[:count]]
        args, kwargs = places.join(given, others)
        held, out = passing(outer, fun)(references[count:], *args, **kwargs)
        return [*values_of(given), *held], out

    values_program.__name__ = name_of(fun)
    return values_program

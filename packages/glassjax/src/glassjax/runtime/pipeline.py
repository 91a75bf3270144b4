"""The pipeline of a jitted function: trace, passes, lowering, compilation."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.errors import CompileError, JaxRuntimeError
from glassjax.monitoring import TRACED
from glassjax.runtime import program as programs
from glassjax.runtime.array import Array, buffer_here
from glassjax.runtime.lowering import Module, recorded_lower
from glassjax.runtime.partitioning import PartitionedProgram, has_shardings, require_platform
from glassjax.runtime.places import NOWHERE, Places, Shardings, shardings_of
from glassjax.runtime.signature import StaticArguments, resolve_arguments
from glassjax.settings.options import timed, with_levels, with_settings
from glassjax_stage2 import ShapedArray, Tracer, tree_leaves
from glassjax_stage2.arguments import FlatFunction
from glassjax_stage2.errors import shown
from glassjax_stage2.source import is_machinery, name_of, user_source
from glassjax_stage2.tree import PyTreeDef
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.array import Array as Stage3Array
from glassjax_stage3.array import new_buffer
from glassjax_stage3.executable import CompiledJaxpr, cached_by_jaxpr, device_type
from glassjax_stage3.jaxpr import Literal, consts_as_invars
from glassjax_stage3.jit_rules import smaller_jaxpr
from glassjax_stage3.staging import trace_to_jaxpr

# Unbounded recursion of a function under tracing.


_being_traced: ContextVar[tuple[Callable[..., Any], ...]] = ContextVar("being_traced", default=())


class refusing_recursion:
    """A context in which a RecursionError names the function that calls itself.

    Arguments:
        caller: the transformation that traces.
        function: the function that is traced in the block. If it is being traced already, it caused
            the recursion.
    """

    __slots__ = ("caller", "function", "previous")

    def __init__(self, caller: str, function: Callable[..., Any]):
        self.caller, self.function = caller, function

    def __enter__(self) -> None:
        self.previous = _being_traced.get()
        _being_traced.set((*self.previous, self.function))

    def __exit__(self, cls: Any, error: Any, traceback: Any) -> None:
        _being_traced.set(self.previous)
        if cls is RecursionError and any(each is self.function for each in self.previous):
            raise RecursionError(
                f"{self.caller}: {name_and_place_of(self.function)} calls itself, and is traced "
                "again at each call, without end, because conditions are unknown during tracing. "
                "Use while_loop or scan to iterate, or do not jit the function that calls itself."
            ) from None


def name_and_place_of(f: Any) -> str:
    """Return the name of `f` for a message, with the file and line of its definition."""
    named = f"`{name_of(f)}`"
    while isinstance(f, partial):
        f = f.func
    code = getattr(_unwrapped(f), "__code__", None)
    if code is None or is_machinery[code.co_filename]:
        return named
    return f"{named} at {code.co_filename}:{code.co_firstlineno}"


def _unwrapped(f: Any) -> Any:
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return f


# Closed-over arrays of one repeated number, such as `np.zeros((1000, 1000))`.
#
# Such an array is not copied to the device: the program holds the number, and broadcasts it if
# XLA fuses that with its uses. A product, for example, would need the array in memory, and XLA
# would fill it at every call.


_SMALLEST = 2**20  # bytes; smaller arrays are not worth scanning
_CHUNK = 2**20  # elements compared at once

_FUSED = {
    *stage2.primitives.ARITHMETIC,
    *stage2.primitives.COMPARISONS,
    *stage2.primitives.UNARY,
    stage2.primitives.select_n_p,
    stage2.primitives.reduce_sum_p,
}
_VIEWS = {
    stage2.primitives.broadcast_in_dim_p,
    stage2.primitives.convert_element_type_p,
    stage2.primitives.reshape_p,
    stage2.primitives.transpose_p,
}

_Number = tuple[int, bytes]  # the position of a constant, and the number in its own dtype


def without_uniform(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[bool]]:
    """Write large uniform constants into a program.

    Arguments:
        jaxpr: the program, whose first arguments are the constants.
        consts: their values.

    Returns:
        The program, `jaxpr` itself if no constant is uniform; and whether it still has each
        argument.
    """
    numbers = [
        (position, number)
        for position, x in enumerate(consts)
        if (number := _uniform_number(x, jaxpr.invars[position].aval)) is not None
        and _is_fused(jaxpr, jaxpr.invars[position])
    ]
    written = {position for position, _ in numbers}
    kept = [position not in written for position in range(len(jaxpr.invars))]
    return (_with_literals(jaxpr, tuple(numbers)) if numbers else jaxpr), kept


def _is_fused(jaxpr: Jaxpr, var: Var) -> bool:
    """Return True if a program never needs an argument, or a view of it, in memory."""
    views = {var}
    for eqn in jaxpr.eqns:
        if views.isdisjoint(eqn.invars):
            continue
        if eqn.primitive in _VIEWS:
            views.update(eqn.outvars)
        elif eqn.primitive not in _FUSED:
            return False
    return views.isdisjoint(jaxpr.outvars)


@cached_by_jaxpr
def _with_literals(jaxpr: Jaxpr, numbers: tuple[_Number, ...]) -> Jaxpr:
    eqns = []
    for position, number in numbers:
        var = jaxpr.invars[position]
        literal = Literal(np.frombuffer(number, var.aval.dtype)[0], ShapedArray((), var.aval.dtype))
        params = {"shape": var.aval.shape, "broadcast_dimensions": ()}
        eqns.append(JaxprEqn(stage2.primitives.broadcast_in_dim_p, [literal], [var], params))
    written = {position for position, _ in numbers}
    invars = [var for position, var in enumerate(jaxpr.invars) if position not in written]
    return Jaxpr([], invars, [*eqns, *jaxpr.eqns], jaxpr.outvars)


def _uniform_number(x: Any, aval: ShapedArray) -> bytes | None:
    """The number that fills a large numpy array, bit by bit; None for other arrays."""
    if not isinstance(x, np.ndarray) or x.nbytes < _SMALLEST or x.dtype.kind not in "biuf":
        return None
    # "A": in the order of memory, so that an array in Fortran's order is not copied. Every element
    # is compared, so the order does not matter.
    flat = x.reshape(-1, order="A")
    if not np.may_share_memory(flat, x):  # a copy was made: the strides have no flat view
        return None
    words = flat.view(f"u{x.dtype.itemsize}")  # zeros of both signs differ, and NaN is itself
    first = words[0]
    if any((words[start : start + _CHUNK] != first).any() for start in _starts(words.size)):
        return None
    return np.asarray(flat[0], aval.dtype).tobytes()


def _starts(size: int) -> range:
    return range(0, size, _CHUNK)


# The pipeline of a jitted function.
#
# 1. `trace`: Python runs the function once, which leaves a jaxpr and its constants.
# 2. `PASSES`: each takes a jaxpr and returns an equivalent, smaller one.
# 3. `Compilation.text`: the jaxpr is lowered to StableHLO, its effects in order (`lowering`).
# 4. `Compilation.compiled`: XLA compiles the text, or the cache has the result (`program`).
# 5. `Compilation.program`: the object that calls run.
#
# A function on several devices is lowered and compiled by `partitioning`. The log and
# listeners get the time of each step.


# 1. Trace


class Traced:
    """The result of tracing a function at certain types: a program, constants first."""

    def __init__(
        self,
        name: str,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
    ):
        self.name = name
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.in_tree = in_tree  # the pair (args, kwargs), with None for static arguments
        self.out_tree = out_tree
        # A program that contains a tracer is valid for one call only.
        self.is_reusable = not any(isinstance(const, Tracer) for const in consts)

    def const_on_device(self, number: int) -> Any:
        """A constant as an operand: a numpy array is copied to the device once for all calls."""
        x = self.consts[number]
        if isinstance(x, np.ndarray):
            aval = self.jaxpr.invars[number].aval
            x = self.consts[number] = Stage3Array(new_buffer(x, aval), aval)
        return x

    def consts_on_device(self) -> list[Any]:
        return [self.const_on_device(number) for number in range(len(self.consts))]


def trace(
    fun: Callable[..., Any],
    static: Callable[..., Any],
    in_tree: PyTreeDef,
    in_avals: Sequence[ShapedArray],
    argument_names: Callable[[], Sequence[str]],
) -> Traced:
    """Run a function once, on tracers of these types.

    Arguments:
        fun: the user's function, for messages.
        static: the function with its static arguments filled in.
        in_tree: the structure of the pair `(args, kwargs)` of the other arguments.
        in_avals: the types of their leaves.
        argument_names: returns the names of the leaves, for messages.
    """
    name, flat_fun = name_of(fun), FlatFunction(static, in_tree, has_kwargs=True)
    with timed(TRACED, name), refusing_recursion("jit", fun):
        closed = trace_to_jaxpr(flat_fun, in_avals, "jit", fun, argument_names)
    jaxpr = consts_as_invars(closed)
    return Traced(name, jaxpr, closed.consts, in_tree, flat_fun.out_tree)


# Keys: structure and types of the arguments, static values, number types, mesh in context.
Cache = dict[Any, Traced]
_caches: weakref.WeakKeyDictionary[Any, dict[Any, Cache]] = weakref.WeakKeyDictionary()


def cache_of(fun: Callable[..., Any], static: Any) -> Cache:
    """Return the cache of traces of `fun`, shared by equal calls of `jit`."""
    try:
        return _caches.setdefault(fun, {}).setdefault(static, {})
    except TypeError:  # not hashable, or not weak-referenceable
        return {}


def forget_traced() -> None:
    """Empty the caches of traced programs."""
    for by_options in list(_caches.values()):
        for cache in by_options.values():
            cache.clear()


# 2. Passes


def without_unused(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[bool]]:
    """Remove unused arguments and equations."""
    if _uses_everything(jaxpr):  # frequent, and cheaper to check than to remove
        return jaxpr, [True] * len(jaxpr.invars)
    smaller = smaller_jaxpr(jaxpr, (True,) * len(jaxpr.outvars))
    return (jaxpr, [True] * len(jaxpr.invars)) if smaller is None else smaller


def _uses_everything(jaxpr: Jaxpr) -> bool:
    used = set(jaxpr.outvars)
    for eqn in reversed(jaxpr.eqns):
        # A higher-order one may leave some of its operands unused.
        if eqn.primitive.higher_order or used.isdisjoint(eqn.outvars):
            return False
        used.update(eqn.invars)
    return used.issuperset(jaxpr.invars)


# Each takes a program and the values of its first arguments, the constants, and returns an
# equivalent program, and whether that still takes each argument. `keep_unused` skips the first.
PASSES: tuple[Callable[[Jaxpr, Sequence[Any]], tuple[Jaxpr, list[bool]]], ...] = (
    without_unused,
    without_uniform,
)

# 3. to 5. Lower, compile, program


AnyProgram = programs.Program | programs.ProgramOnDevices | programs.DonatingProgram


class Compilation:
    """A traced function with its compile options and placement.

    Attributes:
        program_class: the class of its program on devices other than the default one.

    Arguments:
        traced: the function.
        options: options of compilation.
        where: the places of its arguments, and where it runs if these are unspecified.
        out_shardings: the shardings of its results.
        platform: the platform that it is lowered for; None: its devices' platform.
    """

    program_class: Callable[..., PartitionedProgram] = PartitionedProgram

    def __init__(
        self,
        traced: Traced,
        options: CompileOptions,
        where: Places = NOWHERE,
        out_shardings: Shardings = (),
        platform: str | None = None,
    ):
        self.traced = traced
        self.options = options
        self.compiler_options = with_settings(options.compiler_options)
        self.where = where
        self.out_shardings = out_shardings
        self.platform = platform
        # The program for other devices, or None; empty until it is known.
        self._program: tuple[PartitionedProgram | None, ...] = ()
        self.name = traced.name
        self.jaxpr, count = traced.jaxpr, len(traced.consts)
        # for each argument that is left, its number in the traced program
        numbers = list(range(len(self.jaxpr.invars)))
        for run in PASSES[options.keep_unused :]:
            consts = [traced.consts[number] for number in numbers if number < count]
            self.jaxpr, kept = run(self.jaxpr, consts)
            numbers = [number for number, keep in zip(numbers, kept, strict=True) if keep]
        self._const_numbers = [number for number in numbers if number < count]
        self.kept = [number - count for number in numbers if number >= count]
        self.keeps_all = len(self.kept) == len(traced.jaxpr.invars) - count
        self.asked_to_donate = donated_leaves(traced, options)
        self.donated = [position for position in self.kept if position in self.asked_to_donate]

    def consts(self) -> list[Any]:
        """The constants of the program, on the device."""
        return [self.traced.const_on_device(number) for number in self._const_numbers]

    def text(self) -> str:
        """The StableHLO module for one device, whose first arguments are the constants."""
        module = Module(self.platform or xla.platform_of(), self._argument_attributes())
        return recorded_lower(self.jaxpr, f"jit_{self.name}", module)

    def compiled(self, text: str | None = None) -> CompiledJaxpr:
        """The program for the default device, shared by all with the same program and options.

        Arguments:
            text: its module, if already written.
        """
        options = self.compiler_options
        require_platform(self.name, self.platform or xla.platform_of(), xla.platform_of())
        # (): the key of `evaluate_jaxpr`, so that both run one executable
        key = (tuple(self.donated), options) if self.donated or options else ()
        return programs.once_for_jaxpr(self.jaxpr, key, lambda: self._compile(text or self.text()))

    def _compile(self, text: str) -> CompiledJaxpr:
        options = dict(self.compiler_options)
        try:
            return programs.compile_text(self.jaxpr, text, options)
        except CompileError as error:
            reason = str(error.args[0])
            if not any(name in reason for name in options):
                raise
            raise JaxRuntimeError(
                f"jit of `{self.name}`: XLA does not accept compiler_options={options}: {reason}"
            ) from None

    def program(self, argument_names: Callable[[], Sequence[str]]) -> AnyProgram:
        """Return the program for calls, which takes all leaves, even unused ones."""
        consts, names = self.consts(), argument_names
        program: programs.Program | programs.ProgramOnDevices
        if (partitioned := self.partitioned(names)) is not None:
            kept = None if self.keeps_all else self.kept
            compiled = partitioned.compile()
            program = programs.ProgramOnDevices(compiled, consts, kept, self.traced.out_tree)
        else:
            in_avals = self.traced.jaxpr.in_avals[len(self.traced.consts) :]
            launch = self._on_default_device(consts)
            program = programs.Program(launch, in_avals, moves=bool(self.where.shardings))
        if not self.donated:
            return program
        on_device = list(map(buffer_here, consts, self.jaxpr.in_avals))
        return programs.DonatingProgram(self.name, program, self.donated, on_device, names())

    def partitioned(self, argument_names: Callable[[], Sequence[str]]) -> PartitionedProgram | None:
        """The program for other devices than the default one; None if it runs there."""
        if self._program == ():
            consts = self.consts()
            self._program = (None,)
            if self.is_placed(consts):
                self._program = (self._partitioned(consts, argument_names()),)
        return self._program[0]

    def _on_default_device(self, consts: Sequence[Any]) -> programs.Executor:
        execute = programs.executor(self.compiled(), consts, self.traced.out_tree)
        arrays = [x for x in consts if isinstance(x, Array)]
        if arrays:
            execute = self._answering_for_constants(arrays, execute)
        if self.keeps_all:
            return execute
        kept = self.kept
        return lambda buffers: execute([buffers[position] for position in kept])

    def is_placed(self, consts: Sequence[Any]) -> bool:
        """Return True if an argument, a constant or an option fixes the devices."""
        return (
            self.where.default is not None
            or any(self.where.shardings[position] for position in self.kept if self.where.shardings)
            or any(self.out_shardings)
            or any(type(x) is Array and x.committed for x in consts)
            or has_shardings(self.jaxpr)
        )

    def _partitioned(
        self, consts: Sequence[Any], argument_names: Sequence[str]
    ) -> PartitionedProgram:
        shardings = self.where.shardings or (None,) * len(argument_names)
        kept = self.kept
        attributes = {
            len(consts) + kept.index(position): "{jax.buffer_donor = true}"
            for position in self.donated
        }
        return self.program_class(
            f"jit_{self.name}",
            self.jaxpr,
            [*(shardings_of(consts) or [None] * len(consts)), *[shardings[i] for i in kept]],
            self._out_shardings(),
            [*["a constant"] * len(consts), *[argument_names[position] for position in kept]],
            attributes,
            dict(self.compiler_options),
            self.where.default,
            self.platform,
        )

    def with_options(self, options: CompileOptions) -> Compilation:
        """This compilation with other options."""
        return Compilation(self.traced, options, self.where, self.out_shardings, self.platform)

    def for_platform(self, platform: str) -> Compilation:
        """This compilation for another platform, which needs no devices here."""
        return Compilation(self.traced, self.options, self.where, self.out_shardings, platform)

    def _out_shardings(self) -> Shardings:
        default, out_avals = self.where.default, self.jaxpr.out_avals
        if default is None or not default.shards_results:
            return self.out_shardings or (None,) * len(out_avals)
        return tuple([default.sharding if aval.shape else None for aval in out_avals])

    def _answering_for_constants(
        self, arrays: Sequence[Array], execute: programs.Executor
    ) -> programs.Executor:
        def execute_with_constants(buffers: list[Any]) -> Any:
            try:
                for x in arrays:
                    _ = x.buffer  # raises if it was deleted
            except RuntimeError as error:
                message = f"`{self.name}` closes over an array that is no more: {error}"
                raise RuntimeError(message) from None
            return execute(buffers)

        return execute_with_constants

    # --8<-- [start:aliases]
    def _argument_attributes(self) -> dict[int, str]:
        """For each donated argument, by number, the result that reuses its memory.

        It is the first result of the same type that is not paired yet.
        """
        count = len(self._const_numbers)
        results: dict[Any, list[int]] = {}
        for number, aval in enumerate(self.jaxpr.out_avals):
            results.setdefault(device_type(aval).strip_weak_type(), []).append(number)
        attributes, unusable = {}, []
        for position in self.donated:
            number = count + self.kept.index(position)
            aval = self.jaxpr.in_avals[number]
            free = results.get(device_type(aval).strip_weak_type())
            if free:
                attributes[number] = f"{{tf.aliasing_output = {free.pop(0)} : i32}}"
            else:
                unusable.append(str(aval))
        if unusable:
            _warn_of_unusable(self.name, unusable)
        return attributes

    # --8<-- [end:aliases]


def donated_leaves(traced: Traced, options: CompileOptions) -> set[int]:
    """The positions of the leaves of donated arguments."""
    if not options.donate_argnums and not options.donate_argnames:
        return set()
    args, kwargs = traced.in_tree.unflatten(range(traced.in_tree.num_leaves))
    count = len(args)
    chosen = [args[i] for i in options.donate_argnums if -count <= i < count]
    chosen += [kwargs[name] for name in options.donate_argnames if name in kwargs]
    return set(tree_leaves(chosen))


def _warn_of_unusable(name: str, avals: Sequence[str]) -> None:
    message = (
        f"Some donated buffers were not usable: {', '.join(avals)}. `{name}` has no result of "
        "that shape and dtype to put into the memory, so the arguments stay as they are."
    )
    source = user_source()
    if source is None:
        warnings.warn(message, UserWarning, stacklevel=2)
    else:
        warnings.warn_explicit(message, UserWarning, source.code.co_filename, source.line)


# Options


class CompileOptions(NamedTuple):
    """Compile options; equal options give equal programs."""

    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        fun: Callable[..., Any],
        static: StaticArguments,
        donate_argnums: int | Iterable[int] | None = None,
        donate_argnames: str | Iterable[str] | None = None,
        keep_unused: bool = False,
        compiler_options: Mapping[str, Any] | None = None,
    ) -> CompileOptions:
        """The options given by the user, normalized.

        Raises:
            TypeError: a value is of the wrong type.
            ValueError: an argument to donate is not a parameter of `fun`, or is static.
        """
        numbers, names = resolve_arguments(
            fun, "donate_argnums", donate_argnums, "donate_argnames", donate_argnames
        )
        both = [*({*numbers} & {*static.argnums}), *({*names} & {*static.argnames})]
        if both:
            raise ValueError(
                f"jit of `{name_of(fun)}`: argument {both[0]} is static and to be donated, but a "
                "static argument is a Python value, which has no memory on the device"
            )
        return cls(numbers, names, bool(keep_unused), checked_options(compiler_options))


def checked_options(options: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """XLA's options as a key. Invalid ones are rejected when XLA compiles."""
    if options is None:
        return ()
    if not isinstance(options, Mapping):
        raise TypeError(
            f"jit: compiler_options is a dict of XLA's options, found a {type(options).__name__}"
        )
    options = with_levels(options)
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
            raise TypeError(
                "jit: compiler_options maps names of XLA's options to bool, int, float or str, "
                f"found {name!r}: {shown(value)}"
            )
    return tuple(sorted(options.items()))

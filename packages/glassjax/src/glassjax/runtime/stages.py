"""The stages between a function and its results, under the names of `jax.stages`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, ParamSpec, Protocol, TypeVar, runtime_checkable

from glassjax import xla
from glassjax.runtime.array import Array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.pipeline import Compilation, checked_options
from glassjax.runtime.places import Places, Shardings
from glassjax.runtime.printed_jaxpr import PrintedJaxpr, printed_jaxpr
from glassjax.runtime.refs import RefsOfCall
from glassjax.runtime.staging import struct_of
from glassjax.settings.names import later
from glassjax.settings.options import require_execution
from glassjax.settings.tracers import printed_type
from glassjax.shardings.sharding import Format, Sharding, SingleDeviceSharding, format_of
from glassjax.xla.executables import parsed
from glassjax_stage2 import ShapedArray, Tracer, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef, tree_flatten, tree_leaves
from glassjax_stage3 import Jaxpr

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
CompilerOptions = dict[str, Any]  # names of options of XLA, and their values

_scope_of = later("glassjax.dimensions.scopes", "scope_of")
_dynamic = later("glassjax.runtime.symbolic_modules", "dynamic")


@runtime_checkable
class Wrapped(Protocol):
    """A function that `jit` returns, traced, lowered and compiled when called, or ahead of time.

    >>> isinstance(glassjax.jit(lambda x: x), Wrapped)
    True
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, computed by its program."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The jaxpr of the function for arguments of these types."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO of the function for arguments of these types."""


class JitWrapped(Wrapped, Protocol[P, R]):
    """A `Wrapped` function with typed parameters and result, for type checkers."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __get__(self, instance: object, owner: Any = None) -> JitWrapped[..., R]: ...
    @property
    def __wrapped__(self) -> Callable[P, R]: ...
    @property
    def __name__(self) -> str: ...
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...
    def clear_cache(self) -> None: ...


class ArgInfo(NamedTuple):
    """The type of an argument, and whether its memory may be reused.

    Attributes:
        aval: the type.
        donated: whether the program may reuse the memory of the argument for results.

    >>> lowered = glassjax.jit(lambda x: 2 * x, donate_argnums=0).lower(jnp.ones(3))
    >>> (info,), _ = lowered.args_info
    >>> info.shape, info.dtype, info.donated
    ((3,), dtype('float32'), True)
    """

    aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self.aval!r}, donated={self.donated})"


class _Stage:
    """Shared parts of all stages of a function: its name, arguments and results.

    If the function uses references, its program also takes and returns their arrays.
    """

    refs: RefsOfCall | None = None

    def __init__(self, compilation: Compilation, in_tree: PyTreeDef, names: Sequence[str]):
        program = compilation.traced
        self._compilation = compilation
        self._names = names
        self._leaf_avals = program.jaxpr.in_avals[len(program.consts) :]
        self.fun_name: str = program.name
        self.in_tree = in_tree  # the pair (args, kwargs), without static arguments
        self.out_tree: PyTreeDef = program.out_tree

    @property
    def in_avals(self) -> Any:
        """The pair of positional and keyword arguments, with arrays replaced by their types."""
        return self.in_tree.unflatten(map(printed_type, self._leaf_avals))

    @property
    def args_info(self) -> Any:
        """`in_avals` with an `ArgInfo` for each type."""
        donated = self._compilation.asked_to_donate
        return self.in_tree.unflatten(
            ArgInfo(printed_type(aval), position in donated)
            for position, aval in enumerate(self._leaf_avals)
        )

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the results, in a flat list."""
        return self._compilation.traced.jaxpr.out_avals

    @property
    def out_info(self) -> Any:
        """The result, with a `ShapeDtypeStruct` in place of each array.

        It has a sharding if `out_shardings` has one.
        """
        shardings = self._compilation.out_shardings or [None] * len(self.out_avals)
        found = self.out_tree.unflatten(map(struct_of, self.out_avals, shardings))
        # with references, the program returns the pair of their arrays and the result
        return found if self.refs is None else found[1]

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among all leaves of the arguments, of donated ones."""
        return tuple(sorted(self._compilation.asked_to_donate))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of `{self.fun_name}`>"


class Traced(_Stage):
    """A function as a jaxpr, for arguments of certain types.

    >>> traced = glassjax.jit(lambda x: jnp.sin(x) * 2).trace(1.0)
    >>> print(traced.jaxpr)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """

    @property
    def jaxpr(self) -> PrintedJaxpr:
        """The program."""
        program, consts = self._compilation.traced.jaxpr, self._compilation.traced.consts
        variables = program.invars[: len(consts)], program.invars[len(consts) :]
        return printed_jaxpr(Jaxpr(*variables, program.eqns, program.outvars, consts))

    @property
    def argument_names(self) -> Sequence[str]:
        """The names of the leaves of its arguments."""
        return self._names

    @property
    def where(self) -> Places:
        """The places of the leaves of its arguments, and the devices if these are free."""
        return self._compilation.where

    @property
    def out_shardings(self) -> Shardings:
        """The shardings of the leaves of its result, None if they are free."""
        return self._compilation.out_shardings

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Write the program as a StableHLO module.

        Arguments:
            lowering_platforms: the platform, in a tuple, such as `("cuda",)`, which need not have
                devices here; by default, or if empty, its devices' platform.

        Raises:
            ValueError: there are several platforms, or an unknown one.
            NotImplementedError: an operation has no program for that platform.

        >>> traced = glassjax.jit(jnp.linalg.cholesky).trace(jnp.eye(2))
        >>> "cusolver_potrf_ffi" in traced.lower(lowering_platforms=("cuda",)).as_text()
        True
        """
        compilation = self._compilation
        platforms = set(known_platforms("lower: lowering_platforms", lowering_platforms))
        if len(platforms) > 1:
            raise ValueError(
                "lower: a module is for one platform, found "
                f"lowering_platforms={shown(lowering_platforms)}. Lower for each separately, or "
                "export the function: export(fun_jit, platforms=...) makes a module for each."
            )
        if platforms:
            compilation = compilation.for_platform(platforms.pop())
        lowered = Lowered(compilation, self.in_tree, self._names)
        lowered.refs = self.refs
        return lowered


_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def known_platforms(argument: str, given: Any) -> tuple[str, ...]:
    """The platforms in a sequence; an empty tuple for None.

    Raises:
        TypeError: it is not a sequence of strings; `argument` is its name, for the message.
        ValueError: one is unknown.
    """
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            f'{argument} must be a sequence of strings or None, found {shown(given)}; ("cuda",) is '
            "one"
        )
    if not all(each in _PLATFORMS for each in given):
        raise ValueError(
            f"{argument} must be among {', '.join(map(repr, _PLATFORMS))}, found {shown(given)}"
        )
    return tuple(given)


class Lowered(_Stage):
    """A function as a StableHLO module, for arguments of certain types.

    It drops unused arguments, unless `keep_unused` is set. Constants that the function closes over
    are its first arguments.

    >>> lowered = glassjax.jit(lambda x: jnp.sin(x)).lower(jnp.ones(3))
    >>> "stablehlo.sine" in lowered.as_text()
    True
    >>> lowered.out_info
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    def __init__(self, compilation: Compilation, in_tree: PyTreeDef, names: Sequence[str]):
        super().__init__(compilation, in_tree, names)
        program = compilation.partitioned(lambda: names)
        self._is_partitioned = program is not None
        self._text = compilation.text() if program is None else program.text
        self._scope = _scope_of(compilation.jaxpr.in_avals)
        if self._scope is not None:
            self._text = _dynamic(self._text, self._scope, self.argument_names)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text.

        Arguments:
            dialect: "stablehlo", the default; or "hlo", XLA's form of it before optimization.
            debug_info: whether to write the source location of each line.

        Raises:
            ValueError: there is no such dialect.
        """
        if _dialect("as_text", dialect) == "hlo":
            text: str = self.compiler_ir("hlo").as_hlo_text()
            return text
        return self._text if debug_info else _LOCATION.sub("", self._text)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object of jaxlib.

        Arguments:
            dialect: "stablehlo", the default, for a module of MLIR; or "hlo", for an
                `XlaComputation`.

        Raises:
            ValueError: there is no such dialect.

        >>> lowered = glassjax.jit(lambda x: 2 * x).lower(1.0)
        >>> lowered.compiler_ir().operation.name
        'builtin.module'
        """
        if _dialect("compiler_ir", dialect) == "hlo":
            return xla.xla_computation(self._text)
        return parsed(self._text)

    def compile(
        self,
        compiler_options: Mapping[str, Any] | None = None,
        *,
        device_assignment: None = None,
    ) -> Compiled:
        """Compile the module with XLA.

        Arguments:
            compiler_options: options of XLA, in addition to those given to `jit`.
            device_assignment: must be None: the shardings of the arguments determine the devices.

        Raises:
            TypeError, ValueError: XLA rejects an option.
            ValueError: devices are given, or sizes are symbolic.
        """
        if self._scope is not None:
            types = ", ".join(map(str, self._compilation.jaxpr.in_avals))
            raise ValueError(
                f"compile: XLA compiles for numbers, and the arguments are {types}. Export the "
                "function, or pass their shapes to jit(symbolic=...), which compiles for each size"
            )
        if device_assignment is not None:
            raise ValueError(
                f"compile: expected no device_assignment, found {shown(device_assignment)}: a "
                "program is compiled for the devices of its shardings; give `lower` arguments, or "
                "types, with shardings on these devices"
            )
        compilation = self._compilation
        if compiler_options:
            given = {**dict(compilation.options.compiler_options), **compiler_options}
            options = compilation.options._replace(compiler_options=checked_options(given))
            compilation = compilation.with_options(options)
        if not self._is_partitioned:  # otherwise the program on devices has its own text
            compilation.compiled(self._text)
        compiled = Compiled(compilation, self.in_tree, self._names)
        compiled.refs = self.refs
        return compiled

    @property
    def argument_names(self) -> list[str]:
        """The name of each argument of the module; "a constant" for a closed-over array."""
        names = self._names
        constants = ["a constant"] * len(self._compilation.consts())
        return [*constants, *[names[position] for position in self._compilation.kept]]

    @property
    def compiler_options(self) -> dict[str, Any]:
        """The options of XLA that were given to `jit`."""
        return dict(self._compilation.compiler_options)

    def cost_analysis(self) -> dict[str, float]:
        """An estimate of the work before optimization: operations, bytes accessed, and more."""
        return xla.cost_analysis(self._text)


def _dialect(caller: str, given: str | None) -> str:
    if given not in (None, "stablehlo", "hlo"):
        raise ValueError(
            f"{caller}: expected the dialect 'stablehlo' or 'hlo', found {shown(given)}; what XLA "
            "makes of it is what `compile().as_text()` shows"
        )
    return given or "stablehlo"


_LOCATION = re.compile(r' loc\((?:unknown|(?:"[^"]*"\()?"[^"]*":\d+:\d+\)?)\)$', re.MULTILINE)


def _first_device() -> Sharding:
    return SingleDeviceSharding(xla.default_device())


class Compiled(_Stage):
    """A function compiled for certain argument types, which accepts no others.

    >>> compiled = glassjax.jit(lambda x: x + 1).lower(jnp.ones(3)).compile()
    >>> compiled(jnp.arange(3.0))
    Array([1., 2., 3.], dtype=float32)
    >>> compiled.memory_analysis().argument_size_in_bytes
    12
    """

    def __init__(self, compilation: Compilation, in_tree: PyTreeDef, names: Sequence[str]):
        super().__init__(compilation, in_tree, names)
        self._program = compilation.partitioned(lambda: names)
        self.compiled = self._program.compile() if self._program else compilation.compiled()
        self._run = compilation.program(lambda: names).run

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"`{self.fun_name}` is compiled, for this process, and cannot be pickled. Pickle the "
            "jitted function and compile it again; or write this program by "
            "experimental.serialize_executable.serialize, or for other machines by export"
        )

    @evaluated_by_library
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Execute the program.

        Raises:
            TypeError: structure or types of the arguments differ from compilation.
        """
        if self.refs is not None:
            return self.refs.call(f"`{self.fun_name}`", self._execute, args, kwargs)
        return self._execute(*args, **kwargs)

    def _execute(self, *args: Any, **kwargs: Any) -> Any:
        require_execution(self.fun_name)
        leaves, in_tree = tree_flatten((args, kwargs))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            raise TypeError(
                f"`{self.fun_name}` is compiled, so it can no longer be transformed; "
                "transform the function itself, and compile the result"
            )
        if in_tree != self.in_tree:
            raise TypeError(
                f"`{self.fun_name}` was compiled for arguments of structure "
                f"{self.in_tree}, called with {in_tree}"
            )
        expected = self._leaf_avals
        found = [typeof(leaf) for leaf in leaves]
        if [aval.strip_weak_type() for aval in found] != [a.strip_weak_type() for a in expected]:
            raise TypeError(
                f"`{self.fun_name}` was compiled for {', '.join(map(str, expected))}, "
                f"called with {', '.join(map(str, found))}"
            )
        self._require_shardings(leaves)
        return self._run(leaves)

    @property
    def input_shardings(self) -> Any:
        """The pair of positional and keyword arguments, with a sharding in place of each array.

        It is None for an argument that the program does not use.
        """
        return self.in_tree.unflatten(self._input_shardings)

    @property
    def output_shardings(self) -> Any:
        """The result, with a sharding in place of each array."""
        if self._program is not None:
            return self.out_tree.unflatten(self._program.out_shardings)
        return self.out_tree.unflatten([_first_device()] * len(self.out_avals))

    @property
    def input_formats(self) -> Any:
        """The pair of positional and keyword arguments, with a `Format` in place of each array.

        It is empty for an argument that the program does not use.
        """
        pairs = zip(self._leaf_avals, self._input_shardings, strict=True)
        return self.in_tree.unflatten(
            Format() if sharding is None else format_of(aval.ndim, sharding)
            for aval, sharding in pairs
        )

    @property
    def output_formats(self) -> Any:
        """The result, with a `Format` in place of each array."""
        shardings = tree_leaves(self.output_shardings)
        return self.out_tree.unflatten(
            format_of(aval.ndim, sharding)
            for aval, sharding in zip(self.out_avals, shardings, strict=True)
        )

    def runtime_executable(self) -> Any:
        """jaxlib's compiled program, a `LoadedExecutable`."""
        return self.compiled.executable.loaded

    @cached_property
    def _input_shardings(self) -> list[Sharding | None]:
        kept = self._compilation.kept
        found: list[Sharding | None] = [None] * len(self._leaf_avals)
        shardings: Sequence[Sharding] = [_first_device()] * len(kept)
        if self._program is not None:
            # the constants come first
            shardings = self._program.in_shardings[-len(kept) :] if kept else []
        for position, sharding in zip(kept, shardings, strict=True):
            found[position] = sharding
        return found

    def _require_shardings(self, leaves: Sequence[Any]) -> None:
        for number, (x, expected) in enumerate(zip(leaves, self._input_shardings, strict=True)):
            # The call moves numbers and uncommitted arrays; a committed one is where the user wants
            # it.
            if expected is None or type(x) is not Array or not x.committed:
                continue
            if not x.sharding.is_equivalent_to(expected, x.aval.ndim):
                raise ValueError(
                    f"`{self.fun_name}` was compiled for argument {self._names[number]} with "
                    f"{expected}, found {x.sharding}. Move it by device_put."
                )

    def as_text(self) -> str:
        """The program as optimized by XLA, in HLO."""
        return self.compiled.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: floating-point operations, bytes accessed, and more."""
        return xla.cost_analysis(self.compiled.executable)

    def memory_analysis(self) -> Any:
        """Bytes of memory, as attributes: `argument_size_in_bytes`, `output_size_in_bytes`,
        `alias_size_in_bytes`, `temp_size_in_bytes`, `generated_code_size_in_bytes`."""
        return SimpleNamespace(**xla.memory_analysis(self.compiled.executable))

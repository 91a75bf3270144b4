"""`jit` with JAX's options, and little overhead per call."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from types import FunctionType, MethodType
from typing import Any, overload
from weakref import WeakSet

from glassjax import xla
from glassjax.errors.tracebacks import hide_frames, hiding_frames
from glassjax.runtime import evaluation, pipeline, refs, stages
from glassjax.runtime import places as places_of_arrays
from glassjax.runtime import program as programs
from glassjax.runtime import signature as signatures
from glassjax.runtime.array import Array, is_evaluating, tree_to_arrays, type_of
from glassjax.runtime.evaluation import evaluated_by_library, library_evaluation
from glassjax.runtime.inlining import Inline, is_early
from glassjax.settings.config import Switch, config
from glassjax.settings.names import PickledByName, later, not_given
from glassjax.settings.options import disable_jit_option, require_execution, require_tracing
from glassjax.shardings.mesh import mesh_in_context
from glassjax.shardings.sharding import SingleDeviceSharding
from glassjax.xla.trees import fast_flatten
from glassjax_stage1.interpreter import current_interpreter, in_context
from glassjax_stage2 import ShapedArray, bind, typeof
from glassjax_stage2.arguments import argument_names, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import tree_structure, tree_unflatten
from glassjax_stage3.array import Array as Stage3Array
from glassjax_stage3.jit import jit_p
from glassjax_stage3.staging import CLOSE_OVER, JaxprTrace, abstractify

# `jit` with JAX's options, and little overhead per call.
#
# The rules of jitted functions are stage 3's.


_REMEDY = f"{CLOSE_OVER}, or made static by static_argnums or static_argnames"

_interpreter = in_context.get  # bound once: every call uses it

_jitted: "WeakSet[PjitFunction]" = WeakSet()  # for `clear_jitted`


class PjitFunction(PickledByName, programs.Called):
    """A function that is compiled when first called with a new signature; JAX's name for it."""

    caller = "jit"  # in messages; empty for a function that users do not know to be jitted
    is_users = True  # jitted by the user, so logs and explanations mention it
    is_of_refs = False  # the inner program of a function with refs

    # Other attributes are the user's, and are copied to functions made from this one.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_first_calls",
        "_fun",
        "_given_places",
        "_inside",
        "_name",
        "_options",
        "_programs",
        "_static",
        "_symbolic",
        "_traced",
        "outer_refs",
    )  # fmt: skip

    def __init__(
        self,
        fun: Callable[..., Any],
        static: signatures.StaticArguments,
        options: pipeline.CompileOptions,
        traced: pipeline.Cache,
        inline: bool,
        places: places_of_arrays.GivenPlaces = places_of_arrays.ANYWHERE,
        symbolic: Any = None,
    ):
        # The `__dict__` of other callables is their state, for instance the fields of a model.
        has_users_attributes = isinstance(fun, FunctionType | PjitFunction)
        functools.update_wrapper(self, fun, updated=("__dict__",) if has_users_attributes else ())
        self._fun = fun
        self._name = name_of(fun)
        self._static = static
        self._options = options
        self._traced = traced
        self._programs: dict[Any, Any] = {}  # by `Signature`, and by the faster `_key_of`
        self._first_calls: dict[Any, Any] = {}  # locks of first calls in progress
        self._given_places = places
        self._symbolic = symbolic
        if programs.compiled is not None and places.place is None:
            self._known = programs.compiled.KnownCalls(static)
        self._inside = fun if inline else None  # called inside a transformation
        self.outer_refs: list[refs.Ref] = []  # references that the function closes over
        _jitted.add(self)

    # --8<-- [start:call]
    def _call_by_python(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        A program is first looked up by its `Signature`, and from then on by a key that is faster to
        compute. If all arguments are Arrays, the key is just their types.
        """
        try:
            if Switch.used and (result := self._call_checked(args, kwargs)):
                return result[0]
            running: Any = _interpreter()
            if running is not None:
                takes_templates = getattr(running, "takes_templates", False) and not running.ended
                if takes_templates or not is_evaluating():
                    if self._inside is None:
                        return tree_to_arrays(self._bind(args, kwargs))
                    return self._call_inside(running if takes_templates else None, args, kwargs)
            settings = signatures.settings_here()
            key: Any = [x.call_key for x in args if type(x) is Array]
            if len(key) == len(args) and not kwargs:
                key.append(settings)
                key, buffers = tuple(key), [x.buffer for x in args]
                execute = self._programs.get(key)
            else:
                key, execute, buffers = self._key_of(settings, args, kwargs)
            if execute is not None:
                return execute(buffers)
            program, leaves = self._find(settings, args, kwargs)
            # Programs that donate, or run on other devices, take the leaves themselves.
            if key is not None and program.execute is not None:
                self._programs[key] = program.execute
            return program.run(leaves)
        except refs.OuterRefError as outer:
            self._take_over(outer)
            return self(*args, **kwargs)
        except Exception as error:
            self._improve_error(args, kwargs, error)
            raise

    if programs.compiled is None:
        __call__ = _call_by_python

    # --8<-- [end:call]

    def _key_of(
        self, settings: Any, args: Any, kwargs: Any
    ) -> tuple[Any, programs.Executor | None, list[Any]]:
        """The key of a call, what executes it, and the buffers of its leaves.

        The key is None for a call that only a `Signature` can describe; the executor is None for a
        call that was not made before.
        """
        static, types = self._static.chosen, signatures.leaf_types_for(settings)
        key: list[Any] = [settings]
        buffers: list[Any] = []
        position = 0
        try:
            for x in args:
                if position in static:
                    signatures.add_static(x, key)
                elif type(x) is Array:  # as in `add_tree`, without a call
                    key.append(x.call_key)
                    buffers.append(x.buffer)
                elif not programs.add_tree(x, key, buffers, types):
                    return None, None, buffers
                position += 1
            # sorted: the order in which keywords are written must not make another key
            for name in sorted(kwargs) if len(kwargs) > 1 else kwargs:
                key.append(name)
                x = kwargs[name]
                if name in static:
                    signatures.add_static(x, key)
                elif not programs.add_tree(x, key, buffers, types):
                    return None, None, buffers
            found = tuple(key)
            return found, self._programs.get(found), buffers
        except (TypeError, OverflowError, RecursionError):  # the slow path raises a better error
            return None, None, buffers

    def _find(
        self, settings: Any, args: Any, kwargs: Any
    ) -> tuple[pipeline.AnyProgram, Sequence[Any]]:
        """Return a call's program, created for the first call of its signature, and its leaves."""
        signature, leaves = self._signature_of(settings, args, kwargs)
        program = self._programs.get(signature)
        if program is None:
            with library_evaluation():
                where = self._places_of(leaves, args, kwargs)
                program = self._program(signature, where, args, kwargs)
        return program, leaves

    def _signature_of(
        self,
        settings: Any,
        args: Any,
        kwargs: Any,
        type_of: Callable[[Any], ShapedArray] = typeof,
    ) -> tuple[signatures.Signature, list[Any]]:
        """The signature of a call, and the leaves of its arguments."""
        static: Any = ()
        if self._static.are_given:
            static, args, kwargs = self._static.split(args, kwargs)
        leaves, tree = fast_flatten((args, kwargs))
        try:
            keys = [x.call_key for x in leaves if type(x) is Array]
            if len(keys) < len(leaves):
                types = signatures.leaf_types_for(settings)
                keys = [x.call_key if type(x) is Array else types[type(x)](x) for x in leaves]
            return (tree, tuple(keys), static, settings), leaves
        except (KeyError, TypeError, OverflowError):
            pass  # leave the handler, so that the error below has no context
        avals = self._types_of(leaves, args, kwargs, type_of)
        pairs = zip(leaves, avals, strict=True)
        keys = [x.call_key if type(x) is Array else aval for x, aval in pairs]
        return (tree, tuple(keys), static, settings), leaves

    def _types_of(
        self, leaves: Sequence[Any], args: Any, kwargs: Any, type_of: Callable[[Any], ShapedArray]
    ) -> tuple[ShapedArray, ...]:
        with library_evaluation():
            try:
                return tuple([x.aval if isinstance(x, Stage3Array) else type_of(x) for x in leaves])
            except (TypeError, OverflowError):
                names = functools.partial(self._names, args, kwargs)
                if not self.caller:
                    return tuple(abstractify(self._name, names, leaves, "", type_of))
                caller = f"{self.caller} of `{self._name}`"
                return tuple(abstractify(caller, names, leaves, _REMEDY, type_of))

    def _program(
        self,
        signature: signatures.Signature,
        where: places_of_arrays.Places,
        args: Any,
        kwargs: Any,
    ) -> pipeline.AnyProgram:
        """The program of a signature, for these places of the leaves."""
        program = self._programs.get(signature)
        if program is not None:
            return program
        try:  # other threads wait for the first
            # Reentrant: a function that calls itself must end in a RecursionError, not in a
            # deadlock.
            with self._first_calls.setdefault(signature, RLock()):
                program = self._programs.get(signature)
                if program is None:
                    names = functools.partial(self._names_of_dynamic, args, kwargs)
                    compilation = self._compilation_at(signature, where, args, kwargs)
                    program = compilation.program(names)
                    self._programs[signature] = program
                return program
        finally:
            self._first_calls.pop(signature, None)

    def _program_of(self, args: Any, kwargs: Any) -> tuple[Any, list[Any], tuple[int, ...]]:
        """Return the extension module's entry for the next call, the leaves, and their order.

        The order is as in the arguments, where the items of a dict are not sorted.
        """
        try:
            program, leaves = self._find(signatures.settings_here(), args, kwargs)
            execute, wanted = program.for_compiled(leaves)
        except RuntimeError:  # an argument on other devices was donated
            return None, [], ()
        _, args, kwargs = self._static.split(args, kwargs)
        return execute, wanted, programs.leaf_order((args, kwargs))

    def _take_over(self, outer: refs.OuterRefError) -> None:
        """Add a reference to those that the function closes over."""
        # Passed on already, or unknown to the program's own references: calling again would not
        # end.
        if self.is_of_refs or outer.ref in self.outer_refs:
            raise outer
        outer.ref.contents()  # raises if an enclosing function has to pass it on
        self.outer_refs.append(outer.ref)

    def _improve_error(self, args: Any, kwargs: Any, error: Exception) -> None:
        """Hide the frames of the library in an error of a call, or raise a more informative one."""
        try:
            self._explain(args, kwargs, error)
        except Exception as better:
            hide_frames(better)
            raise
        hide_frames(error)

    def _explain(self, args: Any, kwargs: Any, error: Exception) -> None:
        """Raise a more informative error than the one that a call raised, if possible."""

    def _call_inside(self, copies: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call that a transformation sees as operations, not as a call.

        `copies` is the running trace, if it takes templates.
        """
        static, args, kwargs = self._static.split(args, kwargs)
        function = self._static.fill(static)
        return tree_to_arrays(function(*tree_to_arrays(args), **tree_to_arrays(kwargs)))

    def _call_checked(self, args: Any, kwargs: Any) -> tuple[Any] | None:
        """The result, in a tuple, if a debugging switch changes how the call is made."""
        if self.is_users and disable_jit_option.value:
            return (self._fun(*args, **kwargs),)
        if is_evaluating():
            require_execution(self._name)
        if self.is_users and (self.outer_refs or kwargs or not {Array}.issuperset(map(type, args))):
            with_refs = refs.call_with_refs(self, args, kwargs)
            if with_refs:
                return with_refs
        return evaluation.call_checked(self, args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """The function and its options; programs are compiled again after unpickling."""
        is_inlined, places = self._inside is not None, self._given_places
        return _jitted_of, (
            type(self), self._fun, self._static, self._options, is_inlined, places,
            self._symbolic,
        )  # fmt: skip

    @property
    def static_arguments(self) -> signatures.StaticArguments:
        """The static arguments."""
        return self._static

    def program_with_refs(self, static: Any, places: refs.Places) -> Any:
        """The jitted function of the references' arrays and the other leaves of the arguments."""
        outer = [*self.outer_refs]
        key = static, places, len(outer)
        program: Any = self._programs.get(key)
        if program is None:
            with_values = refs.program_with_refs(self._static.fill(static), places, outer)
            args, kwargs = places.structure.unflatten(range(len(places.are_refs)))
            args, _ = self._static.drop(static, args, kwargs)
            given = self._given_places.with_refs(args, places.are_refs, len(outer))
            # Arguments to donate are left out: `with_values` has others at their positions.
            options = pipeline.CompileOptions(
                keep_unused=self._options.keep_unused,
                compiler_options=self._options.compiler_options,
            )
            program = _jitted_of(
                PjitFunction, with_values, signatures.StaticArguments(with_values), options,
                self._inside is not None, given,
            )  # fmt: skip
            program.is_of_refs = True
            self._programs[key] = program
        return program

    def _places_of(
        self, leaves: Sequence[Any], args: Any, kwargs: Any, types: bool = False
    ) -> places_of_arrays.Places:
        """The places of the leaves of a call, which may be types with `types`."""
        names = functools.partial(self._names_of_dynamic, args, kwargs)
        if self._given_places.have_shardings:
            static, args, kwargs = self._static.split(args, kwargs)
            args, _ = self._static.drop(static, args, kwargs)
        return self._given_places.call_places(self._name, leaves, args, names, types)

    def _compilation(
        self, traced: pipeline.Traced, where: places_of_arrays.Places
    ) -> pipeline.Compilation:
        out_shardings = self._given_places.result_shardings(traced.out_tree)
        return pipeline.Compilation(traced, self._options, where, out_shardings)

    def _compilation_at(
        self,
        signature: signatures.Signature,
        where: places_of_arrays.Places,
        args: Any,
        kwargs: Any,
    ) -> pipeline.Compilation:
        """The compilation for a call: from the program for all sizes if there is one."""
        tree, keys, *rest = signature
        avals = signatures.types_in_key(keys)
        if (symbolic := self._symbolic) is not None and _scope_of(avals) is None:
            _, others, keywords = self._static.split(args, kwargs)
            types = symbolic.types(others, keywords, avals)
            values = symbolic.values(types, avals, self._names_of_dynamic(args, kwargs))
            general = self._for_all_sizes(
                symbolic.scope, (tree, tuple(types), *rest), where, args, kwargs
            )
            if general.serves:
                return general.at(values)
        return self._compilation(self._traced_for(signature, args, kwargs), where)

    def _for_all_sizes(
        self,
        scope: Any,
        signature: signatures.Signature,
        where: places_of_arrays.Places,
        args: Any,
        kwargs: Any,
    ) -> Any:
        """The program of a signature with symbolic sizes, lowered once."""
        key = signature, where
        if key not in self._programs:
            traced = self._traced_for(signature, args, kwargs)
            shardings = self._given_places.result_shardings(traced.out_tree)
            self._programs[key] = _compilation_for_all_sizes(
                scope, traced, self._options, where, shardings
            )
        return self._programs[key]

    def _bind(self, args: Any, kwargs: Any, name: str | None = None) -> Any:
        """A call inside a transformation, which sees one primitive that holds a program."""
        signature, leaves = self._signature_of(signatures.settings_here(), args, kwargs)
        traced = self._traced_for(signature, args, kwargs)
        is_staged = isinstance(current_interpreter(), JaxprTrace)  # computes nothing yet
        consts = traced.consts if is_staged else traced.consts_on_device()
        given = self._given_places
        if given.have_shardings:
            leaves = _constrain_results(leaves, self._places_of(leaves, args, kwargs).shardings)
        outs = bind(
            jit_p, *consts, *leaves, jaxpr=traced.jaxpr, name=self._name if name is None else name
        )
        outs = _constrain_results(outs, given.result_shardings(traced.out_tree))
        return tree_unflatten(traced.out_tree, outs)

    def _traced_for(
        self, signature: signatures.Signature, args: Any, kwargs: Any
    ) -> pipeline.Traced:
        """The function as a program; it runs once for all calls of a signature."""
        tree, keys, static, *_ = signature
        avals = signatures.types_in_key(keys)
        key = tree, avals, static, dialect(), mesh_in_context.get()
        traced = self._traced.get(key)
        if traced is not None:
            return traced
        _, args, kwargs = self._static.split(args, kwargs)
        in_tree = tree_structure((args, kwargs))
        names = functools.partial(self._names, args, kwargs)
        require_tracing(self._name, self.caller or "jit")
        if config.explain_cache_misses:
            _explain_tracing(self, (in_tree, *key[1:]))
        traced = pipeline.trace(self._fun, self._static.fill(static), in_tree, avals, names)
        # If another thread was faster, all share its program, and thereby one executable.
        return self._traced.setdefault(key, traced) if traced.is_reusable else traced

    def _names_of_dynamic(self, args: Any, kwargs: Any) -> list[str]:
        """Return the names of the leaves of the arguments that are not static."""
        _, args, kwargs = self._static.split(args, kwargs)
        return self._names(args, kwargs)

    @evaluated_by_library
    def trace(self, *args: Any, **kwargs: Any) -> stages.Traced:
        """Trace the function for the types of these arguments.

        Anything with a shape and a dtype may replace an array. The result shows the program and the
        types of the results, and can be lowered.
        """
        try:
            if with_refs := self._trace_with_refs(args, kwargs):
                return with_refs
            signature, _ = self._signature_of(signatures.settings_here(), args, kwargs, type_of)
            static, others, keywords = self._static.split(args, kwargs)
            leaves = fast_flatten((others, keywords))[0]
            where = self._places_of(leaves, others, keywords, types=True)
            compilation = self._compilation_at(signature, where, args, kwargs)
        except refs.OuterRefError as outer:
            self._take_over(outer)
            return self.trace(*args, **kwargs)
        args, kwargs = self._static.drop(static, others, keywords)
        in_tree, names = tree_structure((args, kwargs)), self._names(args, kwargs)
        return stages.Traced(compilation, in_tree, names)

    def _trace_with_refs(self, args: Any, kwargs: Any) -> stages.Traced | None:
        """The program on the arrays of references, if there are any."""
        static, args, kwargs = self._static.split(args, kwargs)
        caller = f"jit of `{self._name}`"
        given, rest, places = refs.split_refs(caller, (args, kwargs))
        if not given and not self.outer_refs:
            return None
        program = self.program_with_refs(static, places)
        with refs.lending(given) as values:
            traced: stages.Traced = program.trace([*values, *refs.values_of(self.outer_refs)], rest)
        _, _, called = refs.split_refs(caller, self._static.drop(static, args, kwargs))
        traced.refs = refs.RefsOfCall(called, tuple(self.outer_refs))
        return traced

    @hiding_frames
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function for the types of these arguments, and lower it to StableHLO.

        Anything with a shape and a dtype may replace an array. The result can be printed and
        compiled; the compiled program is called without the static arguments, whose values it
        contains.
        """
        return self.trace(*args, **kwargs).lower()

    def clear_cache(self) -> None:
        """Clear the caches of traced and compiled programs."""
        if programs.compiled is not None and self._known is not None:
            self._known.clear()
        self._traced.clear()
        self._programs.clear()

    def _cache_size(self) -> int:
        """The number of signatures for which the function is compiled; the name is JAX's."""
        return sum(isinstance(each, pipeline.AnyProgram) for each in [*self._programs.values()])

    @hiding_frames
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of these types, with a `ShapeDtypeStruct` for each array."""
        return self.trace(*args, **kwargs).out_info

    def _names(self, args: Any, kwargs: Any) -> list[str]:
        """Return the names of the leaves of the arguments, for messages."""
        return argument_names(self._fun, args, kwargs)

    def _trace_types(self, args: Any, kwargs: Any) -> pipeline.Traced:
        """The program for arguments that may be types."""
        signature, _ = self._signature_of(signatures.settings_here(), args, kwargs, type_of)
        return self._traced_for(signature, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind a method: the instance becomes its first argument, static or a tree."""
        return self if instance is None else JittedMethod(self, instance)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._fun)


class JittedMethod(functools.partial[Any]):
    """A jitted method, bound to its instance as the first argument."""

    @property
    def __func__(self) -> Any:
        return self.func

    @property
    def __self__(self) -> Any:
        return self.args[0]

    def __repr__(self) -> str:
        return f"<bound method {name_of(self.__func__)} of {self.__self__!r}>"

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.__func__)
        return signature.replace(parameters=[*signature.parameters.values()][1:])

    # From Python 3.14 on, a `partial` that is an attribute of a class binds the instance.
    def __get__(self, instance: Any, owner: Any = None) -> "JittedMethod":
        return self  # bound already

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is JittedMethod
            and self.__func__ is other.__func__
            and self.__self__ is other.__self__
        )

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __getattr__(self, name: str) -> Any:
        """`lower` and the like, bound to the instance; other attributes are the function's."""
        attribute = getattr(self.__func__, name)
        if isinstance(attribute, MethodType) and attribute.__self__ is self.__func__:
            return functools.partial(attribute, self.__self__)
        return attribute


def clear_jitted() -> None:
    """Clear the caches of all jitted functions."""
    pipeline.forget_traced()
    for function in list(_jitted):
        function.clear_cache()


@overload
def jit(
    fun: Callable[stages.P, stages.R],
    /,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Iterable[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Iterable[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool | Inline = ...,
    compiler_options: Mapping[str, Any] | None = ...,
    symbolic: Any = ...,
    symbolic_constraints: Sequence[str] = ...,
) -> stages.JitWrapped[stages.P, stages.R]: ...
@overload
def jit(
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Iterable[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Iterable[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool | Inline = ...,
    compiler_options: Mapping[str, Any] | None = ...,
    symbolic: Any = ...,
    symbolic_constraints: Sequence[str] = ...,
) -> Callable[[Callable[stages.P, stages.R]], stages.JitWrapped[stages.P, stages.R]]: ...
def jit(
    fun: Callable[..., Any] = not_given,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    compiler_options: Mapping[str, Any] | None = None,
    symbolic: Any = None,
    symbolic_constraints: Sequence[str] = (),
) -> Any:
    """Compile `fun` with XLA, once for each signature that it is called with.

    A signature is the structure of the arguments, their types, and the values of static ones.
    Compiled programs live as long as `fun`.

    Arguments:
        fun: function of arrays and pytrees of arrays, without side effects. Without it, `jit`
            returns a decorator.
        in_shardings: the shardings of the positional arguments: a sharding, a `PartitionSpec` of
            the mesh in context, or None (not fixed), or a pytree prefix of the tuple of arguments.
            An Array that is committed elsewhere is an error.
        out_shardings: the shardings of the results; None leaves the choice to XLA.
        static_argnums: positions of arguments that are not arrays but hashable Python values,
            part of the signature: `fun` is compiled for each value.
        static_argnames: the same, by name.
        donate_argnums: positions of arguments whose memory the results may take over. The call
            deletes Arrays passed there. Of no effect inside another jitted function.
        donate_argnames: the same, by name.
        keep_unused: whether to pass unused arguments to XLA, too.
        device: None, or the device where `fun` runs, wherever its arguments are.
        backend: None, or the platform where `fun` runs: "cpu", "gpu".
        inline: inside another transformation, run `fun` itself, so that its operations become part
            of the surrounding program, instead of a call. True or `Inline.JAX_EARLY` does so.
        compiler_options: options of XLA for this function, such as
            `{"xla_cpu_enable_fast_math": True}`.
        symbolic: the sizes that differ from call to call, as the text of a shape for all arrays,
            "b, ...", or a tuple of a text, None (no such sizes) or a pytree of them for each
            positional argument. `fun` is traced and lowered once for all positive values of these
            variables, and only compiled for each. `export.symbolic_shape` describes the texts.
        symbolic_constraints: what always holds for the variables, as for `export.symbolic_shape`.

    Returns:
        A function of the same arguments whose results are Arrays. Its methods `trace`, `lower`
        and `eval_shape` take the same arguments, or types, and compute nothing.

    Raises:
        TypeError: when called, an argument that is not static is not an array or number.
        ValueError: a static argument is not hashable; an option names no parameter of `fun`, or
            XLA does not know it; when called, a donated array is also another argument, or the
            variables do not satisfy a constraint.
        RuntimeError: when called, an argument was donated to an earlier call.

    >>> import glassjax.numpy as jnp
    >>> @jit(donate_argnames="total")
    ... def add(total, x):
    ...     return total + x
    >>> total = jnp.zeros(3)
    >>> add(total, 1.0), total.is_deleted()
    (Array([1., 1., 1.], dtype=float32), True)
    """
    if backend is not None and device is not None:
        raise ValueError("jit: pass either backend or device, not both")
    device = device if backend is None else backend
    places = places_of_arrays.GivenPlaces(in_shardings, out_shardings, _placement_of(device))
    if places.have_shardings and places.place is not None:
        raise ValueError("jit: pass either device or in_shardings and out_shardings, not both")
    if type(keep_unused) is not bool:
        raise TypeError(f"jit: keep_unused must be a bool, found {shown(keep_unused)}")
    is_inlined = is_early(inline)
    if symbolic is None and symbolic_constraints:
        raise ValueError("jit: symbolic_constraints are about the variables in symbolic; give both")

    def jitted(fun: Callable[..., Any]) -> PjitFunction:
        require_function("jit", fun)
        static = signatures.StaticArguments(fun, static_argnums, static_argnames)
        options = pipeline.CompileOptions.of(
            fun, static, donate_argnums, donate_argnames, keep_unused, compiler_options
        )
        sizes = None
        if symbolic is not None:
            sizes = _symbolic_sizes(f"jit of `{name_of(fun)}`", symbolic, symbolic_constraints)
        return _jitted_of(PjitFunction, fun, static, options, is_inlined, places, sizes)

    return jitted if fun is not_given else jitted(fun)


def _jitted_of(
    cls: type[PjitFunction],
    fun: Callable[..., Any],
    static: signatures.StaticArguments,
    options: pipeline.CompileOptions,
    *others: Any,
) -> PjitFunction:
    """A jitted function that shares its traced programs with equal ones."""
    return cls(
        fun, static, options, pipeline.cache_of(fun, (static.argnums, static.argnames)), *others
    )


_constrain = later("glassjax.lax.sharding", "constrain")
_explain_tracing = later("glassjax.runtime.notices", "explain_tracing")
_scope_of = later("glassjax.dimensions.scopes", "scope_of")
_symbolic_sizes = later("glassjax.runtime.symbolic_calls", "SymbolicSizes")
_compilation_for_all_sizes = later("glassjax.runtime.symbolic_calls", "CompilationForAllSizes")


def _constrain_results(values: Sequence[Any], shardings: places_of_arrays.Shardings) -> list[Any]:
    """Values inside a transformation, constrained to the given shardings."""
    return [
        x if sharding is None else _constrain(x, sharding)
        for x, sharding in zip(values, shardings or [None] * len(values), strict=True)
    ]


def _placement_of(device: Any) -> places_of_arrays.DefaultPlacement | None:
    """The placement of a function whose device is given; None: anywhere."""
    if device is None or (isinstance(device, str) and device == xla.platform()):
        return None
    if isinstance(device, str):
        device = xla.devices(device)[0]
    if not isinstance(device, xla.device_class()):
        raise ValueError(
            f"jit: device must be None or one of glassjax.devices(), found {shown(device)} of type "
            f"{type(device).__name__}"
        )
    return places_of_arrays.DefaultPlacement(SingleDeviceSharding(device), committed=True)

"""Compiled programs: made by XLA or read from disk, and run by calls.

`compile_or_load` is the step of compiling. Calls run a `Program`, `ProgramOnDevices` or
`DonatingProgram`, from the leaves of the arguments to the result.

The extension module, if it exists, makes most calls: those whose arguments are static values, and
Arrays, also in tuples, lists and dicts; on several devices, if no Array has to be moved. Python
makes all other calls.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from glassjax import xla
from glassjax.monitoring import COMPILED
from glassjax.runtime import compiled_calls
from glassjax.runtime.array import Array, Placed, buffer_here, some_placed
from glassjax.runtime.effects import abstract_token, result_of_type
from glassjax.runtime.lowering import lower
from glassjax.runtime.signature import Rules, leaf_types, types_in_key
from glassjax.settings.config import Switch, config
from glassjax.settings.names import later
from glassjax.settings.number_types import settings_in_force
from glassjax.settings.options import timed
from glassjax.xla import trees
from glassjax.xla.clients import Options
from glassjax.xla.trees import fast_unflatten
from glassjax_stage1.interpreter import in_context
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2.shaped_array import dialect_in_force, numpys_dialect
from glassjax_stage2.source import user_source
from glassjax_stage2.tree import PyTreeDef, find_node_type, registry
from glassjax_stage3 import Jaxpr
from glassjax_stage3.abstract_eval import once_for_types
from glassjax_stage3.array import new_buffer, to_buffer
from glassjax_stage3.backend import Buffer, Device, Executable
from glassjax_stage3.executable import CompiledJaxpr, jaxpr_of_primitive

# 1. Compile

_load_or_keep = later("glassjax.runtime.compilation_cache", "load_or_keep")
_functions_called = later("glassjax.runtime.host_functions", "functions_called")
_noticed_when_slow = later("glassjax.runtime.notices", "noticed_when_slow")
_compile_repetitive = later("glassjax.runtime.notices", "compile_repetitive")
_dump_module = later("glassjax.runtime.dumps", "dump_module")


_LONG = 50_000  # characters of a program that may repeat a block many times


def compile_or_load(
    text: str,
    out_avals: Sequence[ShapedArray],
    options: Options = MappingProxyType({}),
    jaxpr: Jaxpr | None = None,
) -> Executable:
    """Compile for the default device the first time; later, load the result from disk.

    A program that calls Python functions is never cached: they belong to this process. If it is
    compiled and repeats a block of equations of `jaxpr`, a notice says so.
    """
    if config.dump_ir_to:
        _dump_module(text)
    with timed(COMPILED, _name_of(text)):
        xla.register_routines(text, xla.platform_of())  # whether it is compiled or loaded
        if not xla.calls_python(text):
            compile: Callable[[], Executable] = partial(xla.compile, text, out_avals, options)
            if jaxpr is not None and len(text) > _LONG and config.repeated_block_notice > 0:
                compile = partial(_compile_repetitive, jaxpr, _name_of(text), compile)
            return _kept(text, options, (), compile, xla.deserialize, out_avals, options)
        functions, text = _functions_called(text)
        compile = partial(xla.compile_calling, text, functions, out_avals, options)
        load = xla.deserialize_calling
        return _kept(text, options, (), compile, load, functions, out_avals, options)


def compile_or_load_partitioned(
    text: str, devices: tuple[Device, ...], options: Options
) -> xla.PartitionedExecutable:
    """Compile for several devices the first time; later, load the result from disk.

    A program whose devices belong to several processes is not cached: one of them might find it
    while another compiles it for longer than the first one waits. Nor is a program that calls
    Python with shardings while it is compiled.
    """
    if config.dump_ir_to:
        _dump_module(text)
    with timed(COMPILED, _name_of(text)):
        functions, text = _functions_called(text)
        compile = partial(xla.compile_partitioned, text, devices, options, functions)
        here = xla.process_index()
        if has_addresses(text) or any(x.process_index != here for x in devices):
            with noticed_when_slow(text):
                return compile()
        load = xla.deserialize_partitioned
        return _kept(text, options, devices, compile, load, devices, options, functions)


def _kept(
    text: str,
    options: Options,
    devices: Sequence[Device],
    compile: Callable[[], Any],
    load: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """The program from the cache, if there is one; otherwise compiled."""

    def by_xla() -> Any:
        with noticed_when_slow(text):
            return compile()

    if not (config.enable_compilation_cache and config.compilation_cache_dir):
        return by_xla()
    return _load_or_keep(text, options, devices, by_xla, lambda data: load(data, *arguments))


def noticed_when_slow(text: str) -> AbstractContextManager[None]:
    """A context in which XLA compiles; a notice says so if that takes long."""
    if config.slow_compile_notice_secs > 0:
        return _noticed_when_slow(text)
    return nullcontext()


def _name_of(text: str) -> str:
    """The name of a module's function, for logs."""
    function = text[:100].partition("@")[2].partition(" ")[0].removeprefix("jit_")
    return f"jit({function.replace('_lambda_', '<lambda>')})"


def has_addresses(text: str) -> bool:
    """Return True if XLA calls functions while it compiles the module with this text."""
    return ADDRESS.search(text) is not None


ADDRESS = re.compile(
    r"(@(?:InspectSharding|glassjax_partitioned)\([^)]*\) \{(?:api_version = \d+ : i32, )?"
    r'backend_config = )"[^"]*"'
)

T = TypeVar("T")


class Once(Generic[T]):
    """A lazy value that is made only once, in whichever thread needs it first.

    A thread that needs the value while making it does not wait for itself.
    """

    __slots__ = ("__weakref__", "lock", "value")

    def __init__(self) -> None:
        self.lock = RLock()

    def get(self, make: Callable[[], T]) -> T:
        with self.lock:
            if not hasattr(self, "value"):
                self.value = make()
            return self.value


def compile_text(
    jaxpr: Jaxpr, text: str, options: Mapping[str, Any] = MappingProxyType({})
) -> CompiledJaxpr:
    """Compile the module of a jaxpr for the default device, with options of XLA."""
    return CompiledJaxpr(jaxpr, text, partial(compile_or_load, options=options, jaxpr=jaxpr))


_compiled: "WeakKeyDictionary[Jaxpr, dict[Any, Once[CompiledJaxpr]]]" = WeakKeyDictionary()


def once_for_jaxpr(jaxpr: Jaxpr, key: Any, compile: Callable[[], CompiledJaxpr]) -> CompiledJaxpr:
    """The program of a jaxpr for the default device, compiled once, with the jaxpr's lifetime.

    Arguments:
        jaxpr: the program; when it is freed, so is the executable.
        key: everything else that the compilation depends on.
        compile: compiles it.
    """
    return _compiled.setdefault(jaxpr, {}).setdefault(key, Once()).get(compile)


@once_for_types
def compile_primitive(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> CompiledJaxpr:
    """Compile a program of one primitive, for eager operations."""
    jaxpr = jaxpr_of_primitive(primitive, in_avals, params)
    return compile_text(jaxpr, lower(jaxpr, primitive.name))


def run_program(compiled: CompiledJaxpr, args: Sequence[Any]) -> list[Array]:
    """Execute a compiled jaxpr on Arrays or numbers of the types that it was compiled for."""
    buffers = list(map(buffer_here, args, compiled.in_avals))
    return list(map(Array, compiled.execute(buffers), compiled.out_avals))


# 2. Run

Executor = Callable[[list[Any]], Any]  # from the buffers of the arguments to the result

compiled: Any = compiled_calls.module  # None: not built


class CalledByPython:
    """The empty base of jitted functions without the extension module."""

    __slots__ = ()

    _known: Any  # the extension module's calls


if compiled is None or TYPE_CHECKING:
    Called = CalledByPython
else:
    Called = compiled.Called
    compiled.configure(
        Array, in_context, dialect_in_force, settings_in_force, numpys_dialect, Switch,
        registry, leaf_types, to_buffer,
    )  # fmt: skip


class Program:
    """A program on the default device.

    Attributes:
        execute: from the buffers of the leaves to the result; None: some must be moved first.

    Arguments:
        launch: from their buffers on the device to the result.
        in_avals: the types of the leaves.
        moves: whether some are elsewhere.
    """

    __slots__ = ("execute", "in_avals", "launch")

    def __init__(self, launch: Executor, in_avals: Sequence[ShapedArray], moves: bool):
        self.launch = launch
        self.execute = None if moves else launch
        self.in_avals = in_avals

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for these leaves: Arrays, numbers and numpy arrays."""
        return self.launch(self.buffers(leaves))

    def buffers(self, leaves: Sequence[Any]) -> list[Buffer]:
        """The leaves on the device."""
        found = [x.buffer for x in leaves if type(x) is Array and x.call_key is x.aval]
        return found if len(found) == len(leaves) else [*map(on_device, leaves, self.in_avals)]

    def for_compiled(self, leaves: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the function that the extension module calls for such leaves, and its argument."""
        return self.execute, self.buffers(leaves)


def on_device(x: Any, aval: ShapedArray) -> Buffer:
    """A leaf on the default device, where numbers are cached."""
    if type(x) is int or (type(x) is float and x):  # 0.0 == -0.0
        return _number_on_device(x, aval)
    return buffer_here(x, aval)


_number_on_device = lru_cache(maxsize=4096)(to_buffer)


def is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def add_tree(x: Any, key: list[Any], buffers: list[Buffer], types: Rules) -> bool:
    """Add an argument to the key of a call, and its leaves to the buffers.

    Returns:
        False if a leaf is not an Array, a number or a numpy array.
    """
    cls = type(x)
    children: Any
    if cls is Array:
        key.append(x.call_key)
        buffers.append(x.buffer)
        return True
    if cls in types:  # a number or a numpy array
        key.append(aval := types[cls](x))
        buffers.append(on_device(x, aval))
        return True
    if cls is dict:
        names = sorted(x)
        key += cls, len(names), *names
        children = [x[name] for name in names]
    elif cls is tuple or cls is list or (cls not in registry and is_namedtuple(cls)):
        key += cls, len(x)
        children = x
    elif cls in registry:
        children, data = registry[cls].flatten(x)
        children = tuple(children)
        key += cls, len(children), data
    else:
        return False
    for child in children:
        if type(child) is Array:
            key.append(child.call_key)
            buffers.append(child.buffer)
        elif not add_tree(child, key, buffers, types):
            return False
    return True


def executor(compiled: CompiledJaxpr, consts: Sequence[Any], out_tree: PyTreeDef) -> Executor:
    """The function that executes a compiled jaxpr on the buffers of its non-constant arguments.

    It is made once for each program, so that a call does as little as possible.
    """
    execute, out_avals = compiled.execute, compiled.out_avals
    const_buffers = [
        buffer_here(x, aval) for x, aval in zip(consts, compiled.in_avals, strict=False)
    ]
    make = result_of_type if abstract_token in out_avals else Array
    known = known_program(compiled.executable, out_avals, out_tree, const_buffers)
    if known is not None:
        return known
    if trees.is_one_leaf(out_tree) and not consts:
        return xla.executor_of_one(compiled.executable, make, out_avals[0])

    unflatten = fast_unflatten(out_tree)

    def execute_to_tree(buffers: list[Buffer]) -> Any:
        return unflatten(map(make, execute([*const_buffers, *buffers]), out_avals))

    return execute_to_tree


def known_program(
    executable: Executable,
    results: Sequence[ShapedArray | Placed],
    out_tree: PyTreeDef,
    consts: Sequence[Buffer] = (),
) -> Executor | None:
    """The extension module's executor; None: not built, or not applicable.

    Arguments:
        executable: the program, whose first arguments are `consts`.
        results: the `call_key` of each result.
        out_tree: their structure.
    """
    out_avals = types_in_key(results)
    # The module makes Arrays, not tokens, and does not wait, as programs that call Python have to.
    if compiled is None or abstract_token in out_avals or not xla.only_launches(executable):
        return None
    program: Executor = compiled.Program(
        executable.launch, executable.handlers, out_avals, results,
        None if trees.is_one_leaf(out_tree) else fast_unflatten(out_tree), consts,
        executable.failure, executable.collect_garbage,
    )  # fmt: skip
    return program


class ProgramOnDevices:
    """A program on several devices, or on a device other than the default.

    Attributes:
        execute: None, since it takes the leaves themselves.

    Arguments:
        program: the `PartitionedProgram`, which is compiled.
        consts: its first arguments.
        kept: the positions of the leaves that it uses; None: all.
        out_tree: the structure of the result.
    """

    execute = None

    def __init__(
        self, program: Any, consts: Sequence[Any], kept: Sequence[int] | None, out_tree: PyTreeDef
    ):
        self.program = program
        self.consts = consts
        self.kept = kept
        self.out_tree = out_tree
        self.unflatten = fast_unflatten(out_tree)

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for these leaves, which are moved to the program's places."""
        if self.kept is not None:
            leaves = [leaves[position] for position in self.kept]
        return self.unflatten(self.program([*self.consts, *leaves]))

    def for_compiled(self, leaves: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the program on buffers, if nothing is to be moved; else this and the leaves."""
        program = self.program
        placements = [xla.placement_of(x.buffer) for x in leaves if type(x) is Array]
        is_direct = not self.consts and self.kept is None and program.shared is None
        if is_direct and [*map(id, placements)] == [*map(id, program.in_placements)]:
            known = known_program(program.executable, program.results, self.out_tree)
            if known is not None:
                return known, [x.buffer for x in leaves]
        return self, list(leaves)


class DonatingProgram:
    """A program that may reuse the memory of some of its arguments.

    Attributes:
        execute: None, since it takes the leaves themselves and deletes them.

    Arguments:
        name: the name of the function.
        program: the program to run.
        donated: the positions of the donated leaves.
        constants: the constants of the program, on the device.
        argument_names: the names of the leaves, for messages.
    """

    execute = None

    def __init__(
        self,
        name: str,
        program: Program | ProgramOnDevices,
        donated: Sequence[int],
        constants: Sequence[Buffer],
        argument_names: Sequence[str],
    ):
        self.name = name
        self.program = program
        self.donated = donated
        self.constants = constants
        self.ids_of_constants = frozenset(map(id, constants))
        self.argument_names = argument_names

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for these leaves; donated Arrays are deleted."""
        program = self.program
        if isinstance(program, ProgramOnDevices):
            result = program.run(leaves)
        else:
            buffers = program.buffers(leaves)
            for position in self.donated:
                if not isinstance(leaves[position], Array):  # cached numbers may be shared
                    buffers[position] = new_buffer(leaves[position], program.in_avals[position])
            ids = {*map(id, buffers)}
            if len(ids) < len(buffers) or not self.ids_of_constants.isdisjoint(ids):
                self._refuse_shared(buffers)
            result = program.launch(buffers)
            del buffers
        self._delete([leaves[position] for position in self.donated])
        return result

    def for_compiled(self, leaves: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the module's function of the leaves, or None, and the leaves."""
        execute = self.program.execute
        if type(execute) is not compiled.Program or some_placed(leaves):
            return None, list(leaves)
        return compiled.Donation(execute, self.donated, lambda: Donated(self.name)), list(leaves)

    def _delete(self, arrays: Sequence[Any]) -> None:
        """Delete the donated Arrays whose memory XLA took."""
        reason = Donated(self.name)
        for x in arrays:
            # XLA did not take the memory: something still views it, or no result fits into it.
            if type(x) is not Array or not x.buffer.is_deleted():
                continue
            if x.is_placed:
                x.delete_because(reason)
            else:  # the fast path: a training step donates many, without views of their memory
                x.let_go_of_buffer(reason)

    def _refuse_shared(self, buffers: Sequence[Any]) -> None:
        names = self.argument_names
        for position in self.donated:
            mine = buffers[position]
            others = [
                f"argument {names[other]}"
                for other, buffer in enumerate(buffers)
                if other != position and buffer is mine
            ]
            others += ["a constant of the function" for each in self.constants if each is mine]
            if others:
                raise ValueError(
                    f"`{self.name}` cannot reuse the memory of argument {names[position]}, which "
                    f"is donated: the same array is {others[0]}. Pass a copy, `x.copy()`, for one "
                    "of them, or do not donate it."
                )


class Donated:
    """A lazy message about where an Array was donated, since line numbers take time."""

    def __init__(self, name: str):
        self.name = name
        self.source = user_source()

    def __str__(self) -> str:
        where = "" if self.source is None else f" at {self.source}"
        return f"donated to `{self.name}`{where}"


def leaf_order(tree: Any) -> tuple[int, ...]:
    """The number of each leaf, in the order of programs' arguments.

    Leaves are numbered in the order of the arguments, where the items of a dict are not sorted.
    """
    numbers = itertools.count()

    def order(tree: Any) -> list[int]:
        if type(tree) is dict:
            found = {name: order(item) for name, item in tree.items()}
            return [number for name in sorted(found) for number in found[name]]
        node = find_node_type(type(tree))
        if node is None:
            return [next(numbers)]
        return [number for child in node.flatten(tree)[0] for number in order(child)]

    return tuple(order(tree))

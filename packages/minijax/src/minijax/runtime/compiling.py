"""The step of compiling: XLA does it, or another process has, whose result is on the disk."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import RLock
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from minijax import xla
from minijax.runtime.array import Array, buffer_here
from minijax.runtime.lowering import lower
from minijax.runtime.observers import BY_XLA, observed
from minijax.settings.config import config
from minijax.settings.later import later
from minijax.settings.monitoring import COMPILED
from minijax.xla.compile_options import Options
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage3 import Jaxpr
from minijax_stage3.abstract_eval import once_for_types
from minijax_stage3.backend import Device, Executable
from minijax_stage3.executable import CompiledJaxpr, jaxpr_of_primitive

_load_or_keep = later("minijax.runtime.compilation_cache", "load_or_keep")
_functions_called = later("minijax.runtime.host_functions", "functions_called")


# --8<-- [start:compile_or_load]
def compile_or_load(
    text: str, out_avals: Sequence[ShapedArray], options: Options = MappingProxyType({})
) -> Executable:
    """Compile for the default device the first time; later, load the result from disk.

    A program that calls Python functions is never kept: they belong to this process.
    """
    with observed(COMPILED, _name_of(text)):
        xla.register_routines(text, xla.platform_of())  # whether it is compiled or loaded
        if not xla.calls_python(text):
            compile: Callable[[], Executable] = partial(xla.compile, text, out_avals, options)
            return _kept(text, options, (), compile, xla.deserialize, out_avals, options)
        functions, text = _functions_called(text)
        compile = partial(xla.compile_calling, text, functions, out_avals, options)
        load = xla.deserialize_calling
        return _kept(text, options, (), compile, load, functions, out_avals, options)


def compile_or_load_partitioned(
    text: str, devices: tuple[Device, ...], options: Options
) -> xla.PartitionedExecutable:
    """Compile for several devices the first time; later, load the result from disk.

    A program whose devices belong to several processes is not kept: one of them might find it while
    another compiles it for longer than the first one waits. Nor is one that has Python look at
    shardings while it is compiled.
    """
    with observed(COMPILED, _name_of(text)):
        functions, text = _functions_called(text)
        compile = partial(xla.compile_partitioned, text, devices, options, functions)
        here = xla.process_index()
        if has_addresses(text) or any(x.process_index != here for x in devices):
            with observed(BY_XLA, text):
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
        with observed(BY_XLA, text):
            return compile()

    if not (config.enable_compilation_cache and config.compilation_cache_dir):
        return by_xla()
    return _load_or_keep(text, options, devices, by_xla, lambda data: load(data, *arguments))


# --8<-- [end:compile_or_load]


def _name_of(text: str) -> str:
    """The name of the function of which this is the module, as logs have it."""
    function = text[:100].partition("@")[2].partition(" ")[0].removeprefix("jit_")
    return f"jit({function.replace('_lambda_', '<lambda>')})"


def has_addresses(text: str) -> bool:
    """Return True if the text of a module has XLA call functions as it compiles it."""
    return ADDRESS.search(text) is not None


ADDRESS = re.compile(
    r"(@(?:InspectSharding|minijax_partitioned)\([^)]*\) \{(?:api_version = \d+ : i32, )?"
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
    return CompiledJaxpr(jaxpr, text, partial(compile_or_load, options=options))


_compiled: "WeakKeyDictionary[Jaxpr, dict[Any, Once[CompiledJaxpr]]]" = WeakKeyDictionary()


def once_for_jaxpr(jaxpr: Jaxpr, key: Any, compile: Callable[[], CompiledJaxpr]) -> CompiledJaxpr:
    """The program of a jaxpr for the default device, which lives as long and is compiled once.

    Arguments:
        jaxpr: the program, with which the executable lives.
        key: what its compilation depends on besides.
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


def call(compiled: CompiledJaxpr, args: Sequence[Any]) -> list[Array]:
    """Execute a compiled jaxpr on Arrays or numbers of the types that it was compiled for."""
    buffers = list(map(buffer_here, args, compiled.in_avals))
    return list(map(Array, compiled.execute(buffers), compiled.out_avals))

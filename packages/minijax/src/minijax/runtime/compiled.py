"""Compiled jaxprs and primitives: the library's own, which the compile cache on disk may hold."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import RLock
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from minijax.runtime.array import Array
from minijax.runtime.compilation_cache import compile_or_load
from minijax.runtime.lowering import lower
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage3 import Jaxpr
from minijax_stage3.abstract_eval import once_for_types
from minijax_stage3.array import to_buffer
from minijax_stage3.executable import CompiledJaxpr, jaxpr_of_primitive

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


def compile_jaxpr(
    jaxpr: Jaxpr,
    name: str,
    write: Callable[[Jaxpr, str], str] = lower,
    key: Any = (),
    compile: Callable[[Jaxpr, str], CompiledJaxpr] = compile_text,
) -> CompiledJaxpr:
    """Compile a jaxpr for the default device, once.

    Arguments:
        jaxpr: the program, with which the executable lives.
        name: the name of its module.
        write: function from these to the text of the module.
        key: what its compilation depends on besides.
        compile: function from the program and the text to the result.
    """
    once = _compiled.setdefault(jaxpr, {}).setdefault(key, Once())
    return once.get(lambda: compile(jaxpr, write(jaxpr, name)))


@once_for_types
def compile_primitive(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> CompiledJaxpr:
    """Compile a program of one primitive, for eager operations."""
    jaxpr = jaxpr_of_primitive(primitive, in_avals, params)
    return compile_text(jaxpr, lower(jaxpr, primitive.name))


def call(compiled: CompiledJaxpr, args: Sequence[Any]) -> list[Array]:
    """Execute a compiled jaxpr on Arrays or numbers of the types that it was compiled for."""
    buffers = list(map(to_buffer, args, compiled.in_avals))
    return list(map(Array, compiled.execute(buffers), compiled.out_avals))

"""Metadata of operations for the passes of XLA, as frontend attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import glassjax_stage2 as stage2
from glassjax.primitives.declare import declare
from glassjax.primitives.higher_order import attributed_call, staged_call
from glassjax.primitives.sharding_rules import as_operands
from glassjax.runtime import lowering
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.named_scope import record_scopes
from glassjax.settings.config import ReusableContext
from glassjax.settings.names import wraps
from glassjax_stage2 import Primitive, ShapedArray, bind, bind1
from glassjax_stage2.arguments import require_function
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value

xla_metadata_call_p = attributed_call("xla_metadata_call")
xla_metadata_value_p = Primitive("xla_metadata_value")


class Metadata(ReusableContext):
    """A context manager and decorator: the metadata of the operations within."""

    def __init__(self, given: Mapping[str, Any]):
        super().__init__(self._block)
        self._given = given

    def _block(self) -> ReusableContext:
        record_scopes()
        here = dict(lowering.attributes_in_context.value)
        here.update(
            lowering.as_attributes({name: x for name, x in self._given.items() if x is not None})
        )
        for name, x in self._given.items():
            if x is None:
                here.pop(name, None)
        return lowering.attributes_in_context(tuple(sorted(here.items())))

    def __call__(self, f: Callable[..., Any]) -> Any:
        return _WithMetadata(f, self)


class _WithMetadata:
    """A function whose calls, and calls of its methods, have metadata."""

    def __init__(self, f: Callable[..., Any], metadata: Metadata):
        self._f, self._metadata = f, metadata
        wraps(f)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._metadata:
            return self._f(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._f, name)
        return _WithMetadata(found, self._metadata) if callable(found) else found


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Metadata for operations, which the passes of XLA find as frontend attributes.

    Without an array this is a context manager and decorator, for all operations within, including
    those in jitted functions, which are traced again for each metadata. Inner metadata are added to
    outer ones.

    Arguments:
        x: an array or a pytree of arrays: the operations that return them have the metadata. None:
            those in the block or function.
        kwargs: names and values, which are converted to strings. In a block, None removes a name.

    Returns:
        `x`; without it, the context manager.

    >>> from glassjax.experimental.xla_metadata import set_xla_metadata
    >>> @glassjax.jit
    ... def f(x):
    ...     with set_xla_metadata(stage=1):
    ...         y = jnp.sin(x)
    ...     return set_xla_metadata(jnp.cos(y), last=True)
    >>> print(f.lower(1.0).as_text())  # doctest: +ELLIPSIS
    module @jit_f {
    ...
        %0 = stablehlo.sine %arg0 {mhlo.frontend_attributes = {stage = "1"}} : tensor<f32>
        %1 = stablehlo.cosine %0 {mhlo.frontend_attributes = {last = "true"}} : tensor<f32>
    ...
    """
    if x is None:
        return Metadata(kwargs)
    return _attached(x, lowering.as_attributes(kwargs))


@evaluated_by_library
def _attached(x: Any, attributes: lowering.Attributes) -> Any:
    return stage2.tree_map(
        lambda leaf: bind1(xla_metadata_value_p, leaf, attributes=attributes), tree_to_arrays(x)
    )


def _metadata_call_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    attributes: lowering.Attributes,
) -> list[Value]:
    if isinstance(b.module, lowering.Module):
        b.module.attribute(b, [x], attributes)
    return [x]


def _metadata_call_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], Sequence[BatchDim]]:
    return bind(xla_metadata_value_p, *values, **params), dims


declare(
    xla_metadata_value_p,
    abstract_eval=lambda x, *, attributes: [x],
    lower=_metadata_call_lower,
    vmap=_metadata_call_vmap,
    sharding=as_operands,
    jvp=[lambda t, out, x, **params: bind1(xla_metadata_value_p, t, **params)],
    transpose=[lambda ct, x, **params: ct],
)
evaluators[xla_metadata_value_p] = lambda x, *, attributes: [x]


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: Any) -> Any:
    """`f` as a function of the program; calls of it and of its derivatives have metadata.

    It is `xla_metadata_call2(f, meta)`.

    Arguments:
        f: function of arrays and pytrees of arrays; None makes a decorator.
        meta: names, and values that are str, bool, int or float.

    Raises:
        TypeError: a value is something else.

    >>> from glassjax.experimental.xla_metadata import xla_metadata_call
    >>> f = glassjax.jit(xla_metadata_call(jnp.sin, block="waves"))
    >>> 'frontend_attributes={block="waves"}' in f.lower(1.0).as_text("hlo")
    True
    """
    return xla_metadata_call2(f, meta)


def xla_metadata_call2(f: Any = None, /, metadata: Any = None, *, ad_metadata: Any = "same") -> Any:
    """`f` as a function of the program, whose calls have metadata.

    Arguments:
        f: function of arrays and pytrees of arrays; without it, this makes a decorator.
        metadata: a dict of names, and values that are str, bool, int or float.
        ad_metadata: the metadata of calls that the derivative adds, in linearization and in reverse
            mode: "same" as `metadata`, "drop" for none, or a dict.

    Raises:
        TypeError: an argument is something else.

    >>> from glassjax.experimental.xla_metadata import xla_metadata_call2
    >>> @xla_metadata_call2({"group": "layer"}, ad_metadata={"group": "layer, backwards"})
    ... def layer(x):
    ...     return jnp.sin(x)
    >>> "layer, backwards" in glassjax.jit(glassjax.grad(layer)).lower(1.0).as_text()
    True
    """
    caller = "xla_metadata_call"
    if isinstance(f, Mapping) and metadata is None:
        f, metadata = None, f
    attributes = lowering.checked_attributes(
        f"{caller}: metadata", {} if metadata is None else metadata
    )
    if ad_metadata in ("same", "drop"):
        linear_attributes = attributes if ad_metadata == "same" else ()
    else:
        linear_attributes = lowering.checked_attributes(f"{caller}: ad_metadata", ad_metadata)
    if f is None:
        return lambda g: xla_metadata_call2(g, metadata, ad_metadata=ad_metadata)
    require_function(caller, f)

    @evaluated_by_library
    @wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        jaxpr, operands, finish = staged_call(caller, f, args, kwargs)
        params = {"jaxpr": jaxpr, "attributes": attributes, "linear_attributes": linear_attributes}
        return finish(bind(xla_metadata_call_p, *operands, **params))

    return called


def fuse_limit() -> Metadata:
    """The context manager `set_xla_metadata(FUSE_LIMIT=True)`: a boundary for fusion.

    >>> from glassjax.experimental.xla_metadata import fuse_limit
    >>> with fuse_limit():
    ...     y = jnp.sin(1.0)
    """
    return Metadata({"FUSE_LIMIT": True})


def must_fuse_call(identifier: str) -> Any:
    """The decorator `xla_metadata_call(MUST_FUSE=identifier)`: one fusion for the whole function.

    XLA for CPUs ignores it.

    >>> from glassjax.experimental.xla_metadata import must_fuse_call
    >>> must_fuse_call("1")(lambda x: (x * x).sum())(jnp.arange(3.0))
    Array(5., dtype=float32)
    """
    return xla_metadata_call(MUST_FUSE=identifier)


__all__ = [
    "fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call", "xla_metadata_call2",
]  # fmt: skip

"""Parts of a program that run on the host, or on another core, of an accelerator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from glassjax.memory import Space
from glassjax.primitives.higher_order import attributed_call, staged_call
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.lowering import attributes_in_context, in_memory
from glassjax.runtime.named_scope import record_scopes
from glassjax.settings.names import wraps
from glassjax.shardings.memories import kind_of_type, moved
from glassjax_stage2 import bind, tree_leaves, tree_unflatten
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import broadcast_prefix, tree_structure

# The places, by XLA's names.
_TYPES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}
_STREAM = "gpu_stream:"


compute_on_p = attributed_call(
    "compute_on", lambda b, outs: [in_memory(b, x, kind_of_type(x.aval)) for x in outs]
)
compute_on_sparse_p = attributed_call("compute_on")


def compute_on(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """`f`, marked for XLA as a function to run elsewhere than the rest of the program.

    XLA for CPUs has only one place to run.

    Arguments:
        f: function of arrays and pytrees of arrays; without it, this makes a decorator.
        compute_type: "device_host", the host of the device; "device"; "tpu_sparsecore"; or
            "gpu_stream:1", a stream by its number.
        out_memory_spaces: the memory of the results, `glassjax.memory.Space.Device` or `Host`, or
            a pytree prefix of the result with such leaves.
        compiler_options: options for the compilation of this part.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: `compute_type` is not a string, or `f` is not a function.
        ValueError: `compute_type` is unknown; `f` calls another function of compute_on;
            `out_memory_spaces` is not a prefix of the result.

    >>> from glassjax.experimental.compute_on import compute_on
    >>> on_host = compute_on(
    ...     jnp.sin, compute_type="device_host", out_memory_spaces=glassjax.memory.Space.Device
    ... )
    >>> '_xla_compute_type = "host"' in glassjax.jit(on_host).lower(1.0).as_text()
    True
    """
    if f is None:
        return lambda g: compute_on(
            g,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    require_function("compute_on", f)
    inside = _attributes(compute_type)
    for space in tree_leaves(out_memory_spaces):
        if space not in (Space.Device, Space.Host):
            raise TypeError(
                "compute_on: out_memory_spaces must be memory.Space.Device or Host, found "
                f"{shown(space)}"
            )
    attributes = {**inside}
    if compiler_options is not None or compute_type in ("device", "tpu_sparsecore"):
        attributes["backend_config"] = json.dumps({**(compiler_options or {})})
    pairs = tuple(sorted(attributes.items()))

    @evaluated_by_library
    @wraps(f)
    def elsewhere(*args: Any, **kwargs: Any) -> Any:
        record_scopes()
        here = dict(attributes_in_context.value)
        if not here.keys().isdisjoint(("_xla_compute_type", "_xla_stream_annotation")):
            raise ValueError("compute_on: the function calls another one of compute_on")
        with attributes_in_context(tuple(sorted({**here, **inside}.items()))):
            jaxpr, operands, finish = staged_call("compute_on", f, args, kwargs)
        primitive = compute_on_sparse_p if compute_type == "tpu_sparsecore" else compute_on_p
        outs = bind(primitive, *operands, jaxpr=jaxpr, attributes=pairs, linear_attributes=pairs)
        result = finish(outs)
        spaces = broadcast_prefix(out_memory_spaces, result)
        return tree_unflatten(tree_structure(result), map(moved, tree_leaves(result), spaces))

    return elsewhere


def _attributes(compute_type: Any) -> dict[str, str]:
    if not isinstance(compute_type, str):
        raise TypeError(f"compute_on: compute_type must be a string, found {shown(compute_type)}")
    if compute_type.startswith(_STREAM):
        stream = compute_type.removeprefix(_STREAM)
        return {"_xla_stream_annotation": stream, "inlineable": "false"}
    if compute_type not in _TYPES:
        raise ValueError(
            f"compute_on: compute_type must be one of {', '.join(map(repr, _TYPES))}, or "
            f"'{_STREAM}1', found {compute_type!r}"
        )
    return {"_xla_compute_type": _TYPES[compute_type]}


__all__ = ["compute_on"]

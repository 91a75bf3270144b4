"""Reports of backward passes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from glassjax.primitives.custom_trace import Trace
from glassjax.primitives.higher_order import declare_opaque, pass_token
from glassjax.runtime.array import tree_to_arrays
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, bind, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.source import on_behalf_of, user_source
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, eval_jaxpr, jit_p
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import inner_jaxprs
from glassjax_stage3.staging import trace_to_jaxpr

Logs = dict[Any, Any]

log_p = Primitive("log_of_backward_pass", higher_order=True)


def log(role: str, logs: Any) -> None:
    """Log pytrees of arrays, by name.

    Raises:
        TypeError: it is not a dict of pytrees of arrays, or None.
    """
    if logs is not None and not isinstance(logs, Mapping):
        raise TypeError(
            f"{role} must return None or a dict as logs, found {shown(logs)} of type "
            f"{type(logs).__name__}"
        )
    for name, values in (logs or {}).items():
        leaves, tree = tree_flatten(tree_to_arrays(values))
        for leaf in leaves:
            typeof(leaf)
        bind(log_p, *leaves, name=name, tree=tree)


def with_logs(fun: Callable[..., Any], *args: Any) -> tuple[Any, Logs]:
    """The result of a call and the logs of it, by name."""
    trace = LogTrace(fun)
    with trace.run():
        out = fun(*args)
    return out, trace.logs


class LogTrace(Trace):
    """Evaluates operations and collects logs."""

    transformation = "with_logs"

    def __init__(self, f: Any):
        super().__init__(f)
        self.logs: Logs = {}

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        rule: Callable[..., Any] = partial(_log_bind, primitive)
        if primitive is log_p or _has_logs(primitive, params):
            rule = log_rules.get(primitive) or partial(_log_refuse, primitive)
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            return list(rule(self, args, params))

    def keep(self, logs: Logs) -> None:
        """Add to the logs.

        Raises:
            ValueError: there is a log of that name already.
        """
        for name, values in logs.items():
            if name in self.logs:
                raise ValueError(
                    f"with_logs: two backward rules log the name {name!r}. Each name can be "
                    "logged once in a backward pass; inside of a scan, that is once for all steps."
                )
            self.logs[name] = values


# `rule(trace, args, params) -> results`, for higher-order primitives whose programs may log.
log_rules: dict[Primitive, Callable[[LogTrace, Sequence[Any], dict[str, Any]], Sequence[Any]]] = {}


def _log_bind(
    primitive: Primitive, trace: LogTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    return bind(primitive, *args, **params)


def _log_refuse(
    primitive: Primitive, trace: LogTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    raise NotImplementedError(
        f"with_logs: a backward rule inside of `{primitive}` logs, and what is logged there cannot "
        "be returned; log from functions that are called outside of it, in jit, or in scan"
    )


def _has_logs(primitive: Primitive, params: dict[str, Any]) -> bool:
    if not primitive.higher_order:
        return False
    return any(map(_logs, inner_jaxprs(JaxprEqn(primitive, [], [], params))))


@cached_by_jaxpr
def _logs(jaxpr: Jaxpr) -> bool:
    """Return True if a program or one of its inner programs logs."""
    return any(
        eqn.primitive is log_p or any(map(_logs, inner_jaxprs(eqn)))
        for eqn in jaxpr.eqns
        if eqn.primitive.higher_order
    )


@cached_by_jaxpr
def _returning_logs(jaxpr: Jaxpr) -> tuple[Jaxpr, Any]:
    """The program that returns its logs after its results, flat, and their structure."""
    trees: list[Any] = []

    def logs_program(*args: Any) -> list[Any]:
        outs, logs = with_logs(partial(eval_jaxpr, jaxpr, []), *args)
        leaves, tree = tree_flatten(logs)
        trees.append(tree)
        return [*outs, *leaves]

    return trace_to_jaxpr(logs_program, jaxpr.in_avals, "with_logs", None), trees[0]


def log_from_program(primitive: Primitive) -> None:
    """Register a primitive that returns the results of one program, or stacks of some of them."""

    def replay_logs(trace: LogTrace, args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
        program, tree = _returning_logs(params["jaxpr"])
        outs = bind(primitive, *args, **{**params, "jaxpr": program})
        count = len(params["jaxpr"].outvars)
        trace.keep(tree_unflatten(tree, outs[count:]))
        return outs[:count]

    log_rules[primitive] = replay_logs


def _log_keep(trace: LogTrace, args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    trace.keep({params["name"]: tree_unflatten(params["tree"], args)})
    return []


log_rules[log_p] = _log_keep
log_from_program(jit_p)


# The primitive `log`


def _log_nothing(*operands: Any, **params: Any) -> list[Any]:
    return []


def _log_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    """Log arrays with the batch axis first."""
    rows = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
    bind(log_p, *rows, **params)
    return [], []


def _log_effects(with_token: Any, eqn: JaxprEqn, token: Any, following: Any) -> list[JaxprEqn]:
    return [pass_token(eqn, token, following)]


declare_opaque(
    log_p,
    evaluate=_log_nothing,
    abstract_eval=_log_nothing,
    lower=_log_nothing,
    vmap=_log_vmap,
    order=_log_effects,
    effects=True,
)

"""Parameter names of every public callable, beside JAX.

Order and defaults of the functions in the largest modules are in `test_signatures.py`.
"""

import importlib
import inspect

import jax  # noqa: F401
import pytest
from tables import for_each

from glassjax.as_jax.names import missing_names, public_names

# By reason, the parameters that ours lack, and who lacks them.
REASONS = {
    "Programs do not make these objects; those of the library are made in another way.": {
        "jax.Ref": "aval refs",
        "jax.Shard": "sharding global_shape data",
        "jax.core.Tracer": "trace aval",
        "jax.experimental.sparse.SparseTracer": "spvalue",
        "jax.extend.core.JaxprEqn": "effs source_info ctx",
        "jax.extend.linear_util.WrappedFun": "f_transformed transforms stores in_type",
        "jax.extend.source_info_util.SourceInfo": "traceback name_stack",
        "jax.interpreters.ad.JVPTrace": "parent_trace tag",
        "jax.interpreters.partial_eval.DynamicJaxprTracer": "aval val line_info parent",
        "jax.interpreters.partial_eval.JaxprTracer": "pval recipe",
        "jax.interpreters.partial_eval.PartialVal": "xs",
        "jax.stages.Compiled": "executable const_args args_info out_tree no_kwargs in_types "
        "out_types",
        "jax.stages.Lowered": "lowering args_info out_tree no_kwargs in_types out_types",
        "jax.stages.Traced": "meta_tys_flat params out_tree consts fun_sourceinfo",
        "jax.export.Exported": "in_shardings_hlo out_shardings_hlo nr_devices ordered_effects "
        "unordered_effects mlir_module_serialized calling_convention_version "
        "module_kept_var_idx uses_global_constants",
        "jax.experimental.hijax.AbstractRef": "kind",
        "jax.extend.lowering.LoweringRuleContext": "name_stack traceback tokens_in tokens_out "
        "const_lowering axis_size_env dim_var_values jaxpr_eqn_ctx platforms",
        "jax.interpreters.mlir.ModuleContext": "*",
    },
    "A class of bases, whose subclasses take what they like.": {
        "jax.experimental.sparse.JAXSparse": "args shape",
    },
    "JAX refuses any value of these but None.": {
        f"jax.numpy.{name}": "out where"
        for name in (
            "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2",
            "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
            "negative", "subtract",
        )
    },
    "Inner matters of JAX: hijax types, logs, accumulators, lines of equations.": {
        "jax.core.eval_jaxpr": "propagate_source_info",
        "jax.experimental.hijax.vmap_rule": "sum_match",
        "jax.experimental.sparse.util.nfold_vmap": "N broadcasted in_axes",
        "jax.api_util.donation_vector": "kws",
    },
    "An array in a kernel is on one device.": {
        "jax.experimental.pallas.empty": "out_sharding",
    },
    "Slices are parts of a network of TPUs.": {
        "jax.distributed.initialize": "slice_index partition_index",
    },
}  # fmt: skip
LACKING = {name: set(lacks.split()) for table in REASONS.values() for name, lacks in table.items()}
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parameters(function):
    try:
        return inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # which C functions have none of
        return None


def lacked(name, theirs, ours):
    """The parameters of JAX's that ours do not take; None if nobody can say."""
    found, wanted = parameters(ours), parameters(theirs)
    if found is None or wanted is None or any(p.kind is p.VAR_KEYWORD for p in found):
        return set()
    taken = {p.name for p in found}
    return {p.name for p in wanted if p.kind in NAMED and not p.name.startswith("_")} - taken


def every_callable():
    seen = set()
    for module, names in public_names().items():
        try:
            theirs, ours = (
                importlib.import_module(module),
                importlib.import_module(f"glass{module}"),
            )
        except ImportError:
            continue
        missing = {*missing_names(module)}
        for name in names:
            pair = getattr(theirs, name, None), getattr(ours, name, None)
            if name in missing or not all(map(callable, pair)) or id(pair[0]) in seen:
                continue
            seen.add(id(pair[0]))
            yield f"{module}.{name}", *pair


@pytest.mark.newest_jax
def test_callables_take_parameters_of_jaxs_names():
    wrong, needless = {}, {*LACKING}
    for name, theirs, ours in every_callable():
        found, listed = lacked(name, theirs, ours), LACKING.get(name, set())
        if found:
            needless.discard(name)
        if listed != {"*"} and found != listed:
            wrong[name] = sorted(found ^ listed)
    assert wrong == {}
    assert needless == set(), "they lack nothing any more"


@for_each("reason", REASONS)
def test_reasons_are_of_public_names(reason):
    names = {f"{module}.{name}" for module, given in public_names().items() for name in given}
    assert names >= set(REASONS[reason])

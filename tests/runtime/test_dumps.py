"""Files of what is compiled, with the names and the counts of JAX's."""

import gzip
import json
import re
from collections import Counter

import jax
from jaxlib import _jax

import glassjax
from glassjax import numpy as jnp


def dumped(j, into):
    """The files of a function and their names without numbers."""

    @j.jit
    def inner(y):
        return j.numpy.cos(j.numpy.cos(y))

    @j.jit
    def outer(x):
        return inner(j.numpy.sin(x)) * inner(j.numpy.sin(x))

    x = j.numpy.float32(2)
    j.config.update("jax_dump_ir_to", str(into))
    j.config.update("jax_dump_ir_modes", "stablehlo,jaxpr,eqn_count_pprof")
    try:
        outer(x)
    finally:
        j.config.update("jax_dump_ir_to", "")
        j.config.update("jax_dump_ir_modes", "stablehlo")
    files = {re.sub(r"\d+", "", path.name): path for path in into.glob("*outer*")}
    return {name: path.read_bytes() for name, path in files.items()}


def equations(profile):
    """How many equations a profile has of each primitive, by their lines in `inner` and `outer`."""
    profile = json.loads(_jax.pprof_profile_to_json(gzip.decompress(profile)))
    strings = profile["stringTable"]
    functions = {each["id"]: strings[int(each["name"])] for each in profile["function"]}
    lines = {}
    for each in profile["location"]:
        (line,) = each["line"]
        lines[each["id"]] = functions[line["functionId"]].rpartition(".")[2], line["line"]
    counts = Counter()
    for each in profile["sample"]:
        primitive = strings[int(each["label"][0]["str"])]
        stack = [lines[id] for id in each["locationId"]]
        own = tuple([line for line in stack if line[0] in ("inner", "outer")])
        counts[primitive, own] += int(each["value"][0])
    return counts


def test_files_and_profile_are_jaxs(tmp_path):
    ours, theirs = [dumped(j, tmp_path / j.__name__) for j in (glassjax, jax)]
    assert {*ours} == {*theirs}
    (profile,) = [name for name in ours if "pprof" in name]
    assert equations(ours[profile]) == equations(theirs[profile])
    assert b"b:f32[] = sin a" in ours["jax__outer.jaxpr.txt"]


def test_the_module_is_the_text_that_lower_gives(tmp_path):
    @glassjax.jit
    def double(x):
        return 2 * x

    text = double.lower(jnp.ones(3)).as_text(debug_info=True)
    with glassjax.config.override(dump_ir_to=str(tmp_path / "new")):
        double(jnp.ones(3))
    (file,) = (tmp_path / "new").glob("*double*")
    assert file.read_text() == text

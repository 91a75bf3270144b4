"""The search of the built site, run by node: what readers look for is found first."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "site"
CALLS = "reference/glassjax/transformations/#glassjax."

# By what a reader types, what is found first; if two, what comes next.
FOUND = {
    "backpropagation": ["learn/reverse_mode/"],
    "computational graph": ["learn/reverse_mode/"],
    "reverse mode": ["learn/reverse_mode/"],
    "autodiff": ["learn/stage1/dual_numbers/"],
    "automatic differentiation": ["learn/stage1/dual_numbers/"],
    "differentiation": ["learn/stage1/dual_numbers/"],
    "forward mode": ["learn/stage1/dual_numbers/"],
    "derivative": ["learn/stage1/dual_numbers/"],
    "perturbation confusion": ["learn/stage1/dual_numbers/"],
    "interpreter": ["learn/stage1/interpreters/"],
    "interpreters": ["learn/stage1/"],
    "stackless": ["learn/stage1/interpreters/"],
    "autodidax": ["learn/stage1/"],
    "chain rule": ["learn/stage2/jvp/"],
    "what is a jaxpr": ["learn/stage3/jaxprs/"],
    "what is a pytree": ["learn/stage2/trees/"],
    "jaxpr": ["learn/stage3/jaxprs/"],
    "partial evaluation": ["learn/stage4/partial_eval/"],
    "transposition": ["learn/stage4/transpose/"],
    "vmap": [f"{CALLS}vmap", "learn/stage2/vmap/"],
    "jvp": [f"{CALLS}jvp", "learn/stage2/jvp/"],
    "jit": [f"{CALLS}jit", "learn/stage3/jit/"],
    "grad": [f"{CALLS}grad", "learn/stage4/"],
    "einsum": ["reference/numpy/products/#glassjax.numpy.einsum"],
    "where": ["reference/numpy/indexing/#glassjax.numpy.where"],
    "all": ["reference/numpy/reductions/#glassjax.numpy.all"],
    "sin": ["reference/numpy/functions/#glassjax.numpy.sin"],
    "Array": ["reference/glassjax/arrays_and_devices/#glassjax.Array"],
    "UnexpectedTracerError": ["errors/UnexpectedTracerError/"],
}


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the script of the search")
def test_what_readers_look_for_is_found_first():
    script = Path(__file__).with_name("search.js")
    command = ["node", str(script), str(SITE), *FOUND]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout)
    assert {query: found[query][: len(FOUND[query])] for query in FOUND} == FOUND

"""mkdocs hook: what the search of the site finds first.

A name is found first where the reference documents it, a term of the field on the page that
explains it, whatever the title of that page says.

The texts of the site are most of what there is to load, and few visits need them: they are a file
of their own, which docs/assets/search_worker.js fetches for the first search.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sized
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

BEGINNING = Path(__file__).parents[1] / "assets/search_worker.js"

# By page, the terms that readers look for, and that it explains.
TERMS = {
    "learn/": "tutorial, jax from scratch, learn jax",
    "learn/stage1/": "interpreters, autodidax, autodidax2",
    "learn/stage1/interpreters/": "what is an interpreter, what is a primitive, stackless",
    "learn/stage1/dual_numbers/": """
        dual numbers, forward mode, automatic differentiation, autodiff, differentiation,
        derivative, perturbation confusion""",
    "learn/stage1/jaxprs/": "intermediate representation",
    "learn/stage1/staging/": "staging",
    "learn/stage1/dead_code/": "dead code elimination, dce",
    "learn/stage1/errors/": "leaked tracer, leak",
    "learn/watch/recording/": "recorder, stepper",
    "learn/stage2/types/": "abstract value, aval, weak type",
    "learn/stage2/traces/": "trace, rule",
    "learn/stage2/promotion/": "dtype promotion, type promotion, broadcasting",
    "learn/stage2/tracers/": "what is a tracer",
    "learn/stage2/trees/": "what is a pytree",
    "learn/stage2/jvp/": "jvp, tangent, chain rule",
    "learn/stage2/vmap/": "vmap, batch, batching, vectorization",
    "learn/stage2/vmap_rules/": "batching rule",
    "learn/stage3/jaxprs/": "what is a jaxpr",
    "learn/stage3/staging/": "tracing",
    "learn/stage3/abstract_evaluation/": "abstract evaluation, shape inference",
    "learn/stage3/verifier/": "type checker, typecheck",
    "learn/stage3/lowering/": "lowering, stablehlo, mlir",
    "learn/stage3/lowering_rules/": "lowering rule",
    "learn/stage3/backend/": "xla, jaxlib, pjrt",
    "learn/stage3/executables/": "executable, compilation",
    "learn/stage3/jit/": "jit, static arguments, recompilation, retracing",
    "learn/stage4/": "gradient",
    "learn/stage4/partial_eval/": "partial evaluation, residuals",
    "learn/stage4/linearize/": "linearization",
    "learn/stage4/transpose/": "transpose, transposition",
    "learn/stage4/transpose_rules/": "transpose rule",
    "learn/stage4/grad/": "grad, vjp",
    "learn/stage4/cond/": "cond, control flow",
    "learn/stage4/tape/": "tape, wengert list",
    "learn/stage4/your_own/": "custom primitive, new primitive",
    "learn/duals/": "cotangent, adjoint",
    "learn/reverse_mode/": "reverse mode, backpropagation, backprop, computational graph",
    "use/sharding/": "sharding, devices, parallel, mesh",
    "use/shard_map/": "shard_map, pmap, collectives",
    "use/gpus/": "gpu, cuda",
    "use/processes/": "distributed, multihost, slurm",
    "use/compiling_ahead/": "ahead of time compilation, aot, export, compilation cache",
    "use/deploying/": "serving, inference, production, export, c++, pjrt, stablehlo",
    "use/primitives/": "declare a primitive",
    "use/numpy/": "coming from numpy",
    "use/pytorch/": "pytorch, torch",
    "use/looking_in/": "debugging, print, callback, nan",
    "use/memory/": "out of memory, oom, peak memory, residuals, rematerialization",
    "use/unrolled_loops/": "compile time, slow compilation, python loop, for loop, scan",
    "use/sharp_bits/": "gotchas, side effects",
    "use/performance/": "slow, profiling",
    "teach/": "course, teaching, teacher, syllabus, lecture, homework, marks, licence",
    "teach/slides/": "slides, all figures",
}


def on_post_build(config: MkDocsConfig) -> None:
    file = Path(config.site_dir, "search/search_index.json")
    index = json.loads(file.read_text(encoding="utf-8"))
    unknown = TERMS.keys() - {section["location"] for section in index["docs"]}
    if unknown:
        raise LookupError(f"docs/hooks/search.py has terms of no page: {', '.join(unknown)}")
    weigh(index["docs"], index["config"]["separator"])
    for name, content in ("texts", index["docs"]), ("search_index", {**index, "docs": []}):
        text = json.dumps(content, separators=(",", ":"))
        file.with_name(f"{name}.json").write_text(text, encoding="utf-8")
    (worker,) = Path(config.site_dir, "assets/javascripts/workers").glob("search.*.js")
    worker.write_text(BEGINNING.read_text("utf-8") + worker.read_text("utf-8"), encoding="utf-8")


def weigh(sections: list[dict[str, Any]], separator: str) -> None:
    """Give sections of the index their tags, which weigh more than text, and their boosts.

    Of the names that begin with what is looked for the shortest is the one that was meant; users'
    names come before those of the core and the stages. The search lets rare words weigh more, by
    their `idf`, which is undone for names, since `array_equal` is no better answer for `array`.
    """
    counts = Counter(
        word
        for section in sections
        for part in (section["title"], section["text"])
        for word in {*re.split(separator, re.sub("<.*?>", "", part).lower())}
    )
    for section in sections:
        page, _, anchor = section["location"].partition("#glassjax")
        if anchor and page.startswith("reference/"):
            title = section["title"]
            section["tags"] = [title]
            section["boost"] = 50 / max(len(title), 3) ** 2 / idf(counts[title.lower()], sections)
            if page.startswith(
                ("reference/stages/", "reference/glassjax/core/", "reference/more/")
            ):
                section["boost"] *= 0.1
        elif terms := TERMS.get(section["location"]):
            section["tags"] = [" ".join(term.split()) for term in terms.split(",")]
            section["boost"] = 2.0 if "what is" in terms else 0.2
        elif page.startswith("learn/"):
            section["boost"] = 2.0


def idf(count: int, sections: Sized) -> float:
    """The weight of a word in the search, by the number of sections that have it."""
    return math.log(1 + abs((len(sections) - count + 0.5) / (count + 0.5)))

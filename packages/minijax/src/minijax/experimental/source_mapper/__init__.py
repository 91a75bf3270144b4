"""Maps from the lines of compiled programs to those of their source, as editors read them.

`generate_sourcemaps` makes them of the stages of a compilation, the passes, for any function. The
names are those of `jax.experimental.source_mapper`.
"""

import minijax.experimental.source_mapper.hlo as _hlo
import minijax.experimental.source_mapper.jaxpr as _jaxpr
from minijax.experimental.source_mapper.common import (
    Pass,
    SourceMapDump,
    all_passes,
    compile_with_env,
    filter_passes,
    register_pass,
)
from minijax.experimental.source_mapper.generate_map import generate_sourcemaps
from minijax.experimental.source_mapper.jaxpr import canonicalize_filename
from minijax.experimental.source_mapper.mlir import create_mlir_sourcemap
from minijax.experimental.source_mapper.source_map import MappingsGenerator, SourceMap

__all__ = [
    "MappingsGenerator", "Pass", "SourceMap", "SourceMapDump", "all_passes",
    "canonicalize_filename", "compile_with_env", "create_mlir_sourcemap", "filter_passes",
    "generate_sourcemaps", "register_pass",
]  # fmt: skip

_passes = _hlo, _jaxpr

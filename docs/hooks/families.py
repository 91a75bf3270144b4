"""The pages of the reference, and which public names each of them lists.

A module of many names has a page for each family of them. A name belongs to the family that lists
the room in which it is defined: `numpy.math` for what `minijax/numpy/math/` has, or a name itself,
as `.newaxis`. Rooms of other distributions begin with `~`.
"""

import importlib
import types
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page: its place below `reference/`, its title, and its modules."""

    path: str
    title: str
    modules: tuple[str, ...]
    rooms: tuple[str, ...] | None = None  # a family of the first module

    def names(self, module: str) -> list[str]:
        """The public names of a module that this page lists."""
        names = public_names(module)
        if self.rooms is not None and module == self.modules[0]:
            names = [name for name in names if self in families_of(module, name)]
        return names


def public_names(module: str) -> list[str]:
    """What a module exports, except modules, in the order of the alphabet."""
    namespace = importlib.import_module(module)
    names = [
        n for n in namespace.__all__ if not isinstance(getattr(namespace, n), types.ModuleType)
    ]
    return sorted(names, key=lambda name: (name.lower(), name))


def families_of(module: str, name: str) -> list[Page]:
    """The pages that list a name of a module: one, if the tables below are right."""
    value = getattr(importlib.import_module(module), name)
    home = home_of(value)
    found: list[tuple[int, Page]] = []
    for page in PAGES:
        if page.modules[0] == module and page.rooms is not None:
            for room in page.rooms:
                if room == f".{name}":
                    return [page]
                if home == room or home.startswith(f"{room}."):
                    found.append((len(room), page))
    nearest = max((length for length, _ in found), default=0)
    return [page for length, page in found if length == nearest]


def home_of(value: Any) -> str:
    """The room in which a value is defined."""
    home = getattr(value, "__module__", None) or type(value).__module__
    return home.removeprefix("minijax.") if home.startswith("minijax.") else f"~{home}"


def family(path: str, title: str, module: str, *rooms: str, more: tuple[str, ...] = ()) -> Page:
    return Page(path, title, (module, *more), rooms)


NUMPY = "minijax.numpy"
LAX = "minijax.lax"
TOP = "minijax"

PAGES = (
    # minijax
    family(
        "minijax/transformations", "Transformations", TOP, "transforms", "runtime.jit",
        "runtime.staging", ".ensure_compile_time_eval",
        "parallel", ".ShapeDtypeStruct", ".checkpoint_policies", "runtime.named_scope", ".typeof",
        more=("minijax.custom_derivatives", "minijax.custom_batching", "minijax.ad_checkpoint"),
    ),
    family(
        "minijax/arrays_and_devices", "Arrays and devices", TOP, "runtime.array", "runtime.devices",
        "runtime.make_array", "shardings", "~jaxlib", ".device_put", ".default_matmul_precision",
        ".ds", ".float0", ".reshard",
        more=("minijax.sharding", "minijax.distributed", "minijax.dlpack", "minijax.memory"),
    ),
    family(
        "minijax/references", "References", TOP, "runtime.refs", "ref",
        more=("minijax.ref",),
    ),
    family(
        "minijax/debugging", "Settings and debugging", TOP, "settings", "checks", "callbacks",
        "errors", "explaining", "runtime.evaluation", "~minijax_watch.recorder",
        more=(
            "minijax.debug", "minijax.profiler", "minijax.test_util",
        ),
    ),
    Page(
        "minijax/programs", "Compiled and exported programs", ("minijax.stages", "minijax.export")
    ),
    Page("minijax/core", "Your own primitives", ("minijax.core",)),
    Page("minijax/ffi", "Foreign functions", ("minijax.ffi",)),
    Page(
        "minijax/extend", "Extensions by JAX's conventions",
        ("minijax.extend.core", "minijax.extend.linear_util", "minijax.extend.backend",
         "minijax.extend.random", "minijax.extend.source_info_util", "minijax.interpreters.ad",
         "minijax.interpreters.batching", "minijax.interpreters.mlir",
         "minijax.interpreters.partial_eval", "minijax.interpreters.pxla",
         "minijax.interpreters.xla", "minijax.extend.lowering", "minijax.extend.xla",
         "minijax.api_util"),
    ),
    family("minijax/as_jax", "In JAX's place", TOP, "as_jax"),
    Page(
        "minijax/trees", "Trees", ("minijax.tree", "minijax.tree_util", "minijax.flatten_util")
    ),
    Page("minijax/checkpoints", "Checkpoints", ("minijax.checkpoints",)),
    # numpy
    family(
        "numpy/creation", "Creation, grids, triangles", NUMPY, "numpy.creation", "numpy.grids",
        "dlpack",
    ),
    family(
        "numpy/arithmetic", "Arithmetic and comparison", NUMPY, "numpy.elementwise",
        "numpy.ufuncs", "lax.elementwise",
    ),
    family(
        "numpy/functions", "Elementary functions", NUMPY, "numpy.transcendental",
        "numpy.floating_point", "lax.transcendental",
    ),
    family("numpy/reductions", "Reductions", NUMPY, "numpy.reductions"),
    family(
        "numpy/products", "Products and einsum", NUMPY, "numpy.products", "numpy.einsum",
    ),
    family(
        "numpy/shapes", "Shapes, joining, rearranging", NUMPY, "numpy.shapes",
        "numpy.rearranging", "numpy.padding", "lax.shapes",
    ),
    family(
        "numpy/indexing", "Indexing and selection", NUMPY,
        "numpy.taking", "numpy.selection", "~numpy.lib._index_tricks_impl", ".newaxis",
    ),
    family("numpy/sorting", "Sorting, searching, sets", NUMPY, "numpy.sorting", "numpy.sets"),
    family("numpy/statistics", "Statistics", NUMPY, "numpy.statistics"),
    family(
        "numpy/signals", "Differences and polynomials", NUMPY, "numpy.differences",
        "numpy.polynomials",
    ),
    family("numpy/vectorize", "Functions of functions", NUMPY, "numpy.vectorize"),
    family(
        "numpy/types", "Types, constants, printing", NUMPY, "numpy.scalar_types", "numpy.dtypes",
        "dtypes", "runtime.array", "~numpy", "~ml_dtypes", "~builtins",
        more=("minijax.dtypes", "minijax.typing"),
    ),
    Page("numpy/linalg", "numpy.linalg", ("minijax.numpy.linalg",)),
    Page("numpy/fft", "numpy.fft", ("minijax.numpy.fft",)),
    # lax
    family(
        "lax/elementwise", "Elementwise operations", LAX, "lax.elementwise",
        "lax.conversion", ".convert_element_type", "lax.transcendental",
    ),
    family("lax/special", "Special functions", LAX, "lax.special", "lax.formulas",
        "lax.incomplete_gamma", "lax.incomplete_beta"),
    family(
        "lax/control_flow", "Control flow", LAX, "lax.control_flow", "lax.barriers",
    ),
    family("lax/shapes", "Shapes and creation", LAX, "lax.shapes", "lax.shape_rules"),
    family(
        "lax/indexing", "Slices, gather, scatter", LAX, "lax.slicing", "lax.dynamic_slicing",
        "lax.gathering", "lax.scattering",
    ),
    family(
        "lax/reductions", "Reductions, windows, sorting", LAX, "lax.reductions", "lax.cumulative",
        "lax.windowed_reductions", "lax.sorting",
    ),
    family(
        "lax/products", "Products, convolutions, fft", LAX, "lax.products", "lax.convolution",
        "lax.fourier", "lax.precision", "~types", "~builtins", ".conv_general_dilated_p",
    ),
    family(
        "lax/collectives", "Collectives, sharding, random bits", LAX, "lax.collectives",
        "lax.sharding", "lax.random_bits",
    ),
    Page("lax/linalg", "lax.linalg", ("minijax.lax.linalg",)),
    # random, nn, image, ops
    family(
        "random/keys", "Keys and bits", "minijax.random", "random.keys",
    ),
    family(
        "random/distributions", "Distributions", "minijax.random", "random", ".random_gamma_p",
    ),
    Page("nn/functions", "Activations and attention", ("minijax.nn",)),
    Page("nn/initializers", "Initializers", ("minijax.nn.initializers",)),
    Page("nn/image", "Images and segments", ("minijax.image", "minijax.ops")),
    # scipy
    *(
        Page(f"scipy/{name.replace('.', '_')}", f"scipy.{name}", (f"minijax.scipy.{name}",))
        for name in (
            "linalg", "special", "signal", "ndimage", "optimize", "integrate", "fft",
            "sparse.linalg", "cluster.vq", "interpolate", "spatial.transform",
        )
    ),
    Page(
        "scipy/stats", "scipy.stats",
        (
            "minijax.scipy.stats",
            *(
                f"minijax.scipy.stats.{name}"
                for name in importlib.import_module("minijax.scipy.stats").__all__
                if isinstance(
                    getattr(importlib.import_module("minijax.scipy.stats"), name), types.ModuleType
                )
            ),
        ),
    ),
    # More
    Page(
        "more/experimental", "Experimental",
        (
            "minijax.experimental", "minijax.experimental.jet", "minijax.experimental.sparse",
            "minijax.experimental.mesh_utils",
            "minijax.experimental.multihost_utils", "minijax.experimental.random",
            "minijax.experimental.rnn", "minijax.experimental.buffer_callback",
            "minijax.experimental.roofline", "minijax.experimental.source_mapper",
            "minijax.experimental.layout", "minijax.experimental.xla_metadata",
            "minijax.experimental.custom_partitioning",
            "minijax.experimental.compute_on", "minijax.experimental.serialize_executable",
        ),
    ),
    Page(
        "more/example_libraries", "Optimisers and layers",
        ("minijax.example_libraries.optimizers", "minijax.example_libraries.stax"),
    ),
    # The stages
    *(Page(f"stages/stage{n}", f"minijax_stage{n}", (f"minijax_stage{n}",)) for n in (1, 2, 3, 4)),
)  # fmt: skip

# The groups of the navigation: the folder of their pages, and what they are called.
GROUPS = {
    "minijax": "minijax",
    "numpy": "minijax.numpy",
    "lax": "minijax.lax",
    "random": "minijax.random",
    "nn": "minijax.nn, image, ops",
    "scipy": "minijax.scipy",
    "more": "More modules",
    "stages": "The stages",
}

"""The pages of the reference, and which public names each of them lists.

A module of many names has a page for each family of them. A name belongs to the family that lists
the room in which it is defined: `numpy.math` for what `glassjax/numpy/math/` has, or a name itself,
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
    return home.removeprefix("glassjax.") if home.startswith("glassjax.") else f"~{home}"


def family(path: str, title: str, module: str, *rooms: str, more: tuple[str, ...] = ()) -> Page:
    return Page(path, title, (module, *more), rooms)


NUMPY = "glassjax.numpy"
LAX = "glassjax.lax"
TOP = "glassjax"

PAGES = (
    # glassjax
    family(
        "glassjax/transformations", "Transformations", TOP, "transforms", "runtime.jit",
        "runtime.staging", ".ensure_compile_time_eval",
        "parallel", ".ShapeDtypeStruct", ".checkpoint_policies", "runtime.named_scope", ".typeof",
        "runtime.inlining",
        more=("glassjax.custom_derivatives", "glassjax.custom_batching", "glassjax.ad_checkpoint"),
    ),
    family(
        "glassjax/arrays_and_devices", "Arrays and devices", TOP, "runtime.array",
        "runtime.devices", "runtime.make_array", "shardings", "~jaxlib", ".device_put",
        ".default_matmul_precision", ".ds", ".float0", ".reshard",
        more=("glassjax.sharding", "glassjax.distributed", "glassjax.dlpack", "glassjax.memory"),
    ),
    family(
        "glassjax/references", "References", TOP, "runtime.refs", "ref",
        more=("glassjax.ref",),
    ),
    family(
        "glassjax/debugging", "Settings and debugging", TOP, "settings", "checks", "callbacks",
        "errors", "explaining", "runtime.evaluation", "~glassjax_watch.recorder",
        more=(
            "glassjax.debug", "glassjax.profiler", "glassjax.test_util",
        ),
    ),
    Page(
        "glassjax/programs", "Compiled and exported programs",
        ("glassjax.stages", "glassjax.export"),
    ),
    Page("glassjax/core", "Your own primitives", ("glassjax.core",)),
    Page("glassjax/ffi", "Foreign functions", ("glassjax.ffi",)),
    Page(
        "glassjax/extend", "Extensions by JAX's conventions",
        ("glassjax.extend.core", "glassjax.extend.linear_util", "glassjax.extend.backend",
         "glassjax.extend.random", "glassjax.extend.source_info_util", "glassjax.interpreters.ad",
         "glassjax.interpreters.batching", "glassjax.interpreters.mlir",
         "glassjax.interpreters.partial_eval", "glassjax.interpreters.pxla",
         "glassjax.interpreters.xla", "glassjax.extend.lowering", "glassjax.extend.xla",
         "glassjax.api_util"),
    ),
    family("glassjax/as_jax", "In JAX's place", TOP, "as_jax"),
    Page(
        "glassjax/trees", "Trees", ("glassjax.tree", "glassjax.tree_util", "glassjax.flatten_util")
    ),
    Page("glassjax/checkpoints", "Checkpoints", ("glassjax.checkpoints",)),
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
        more=("glassjax.dtypes", "glassjax.typing"),
    ),
    Page("numpy/linalg", "numpy.linalg", ("glassjax.numpy.linalg",)),
    Page("numpy/fft", "numpy.fft", ("glassjax.numpy.fft",)),
    # lax
    family(
        "lax/elementwise", "Elementwise operations", LAX, "lax.elementwise",
        "lax.conversion", ".convert_element_type", "lax.transcendental",
    ),
    family("lax/special", "Special functions", LAX, "lax.special", "lax.series",
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
        "lax.sharding", "lax.placement", "lax.random_bits",
    ),
    Page("lax/linalg", "lax.linalg", ("glassjax.lax.linalg",)),
    # random, nn, image, ops
    family(
        "random/keys", "Keys and bits", "glassjax.random", "random.keys",
    ),
    family(
        "random/distributions", "Distributions", "glassjax.random", "random", ".random_gamma_p",
    ),
    Page("nn/functions", "Activations and attention", ("glassjax.nn",)),
    Page("nn/initializers", "Initializers", ("glassjax.nn.initializers",)),
    Page("nn/image", "Images and segments", ("glassjax.image", "glassjax.ops")),
    # scipy
    *(
        Page(f"scipy/{name.replace('.', '_')}", f"scipy.{name}", (f"glassjax.scipy.{name}",))
        for name in (
            "linalg", "special", "signal", "ndimage", "optimize", "integrate", "fft",
            "sparse.linalg", "cluster.vq", "interpolate", "spatial.transform",
        )
    ),
    Page(
        "scipy/stats", "scipy.stats",
        (
            "glassjax.scipy.stats",
            *(
                f"glassjax.scipy.stats.{name}"
                for name in importlib.import_module("glassjax.scipy.stats").__all__
                if isinstance(
                    getattr(importlib.import_module("glassjax.scipy.stats"), name), types.ModuleType
                )
            ),
        ),
    ),
    # More
    Page(
        "more/experimental", "Experimental",
        (
            "glassjax.experimental", "glassjax.experimental.jet", "glassjax.experimental.sparse",
            "glassjax.experimental.mesh_utils",
            "glassjax.experimental.multihost_utils", "glassjax.experimental.random",
            "glassjax.experimental.rnn", "glassjax.experimental.buffer_callback",
            "glassjax.experimental.roofline", "glassjax.experimental.source_mapper",
            "glassjax.experimental.layout", "glassjax.experimental.xla_metadata",
            "glassjax.experimental.custom_partitioning",
            "glassjax.experimental.compute_on", "glassjax.experimental.colocated_python",
            "glassjax.experimental.serialize_executable",
        ),
    ),
    Page(
        "more/pallas", "Pallas",
        (
            "glassjax.experimental.pallas", "glassjax.experimental.pallas.tpu",
            "glassjax.experimental.pallas.triton",
        ),
    ),
    Page(
        "more/example_libraries", "Optimisers and layers",
        ("glassjax.example_libraries.optimizers", "glassjax.example_libraries.stax"),
    ),
    # The stages
    *(
        Page(f"stages/stage{n}", f"glassjax_stage{n}", (f"glassjax_stage{n}",))
        for n in (1, 2, 3, 4)
    ),
)  # fmt: skip

# The groups of the navigation: the folder of their pages, and what they are called.
GROUPS = {
    "glassjax": "glassjax",
    "numpy": "glassjax.numpy",
    "lax": "glassjax.lax",
    "random": "glassjax.random",
    "nn": "glassjax.nn, image, ops",
    "scipy": "glassjax.scipy",
    "more": "More modules",
    "stages": "The stages",
}

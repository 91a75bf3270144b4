# ruff: noqa: E501  # a row of a table is a line
"""Errors: class, message with the user's line and the fix, and page."""

import contextlib
import io
import linecache
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import (
    P,
    ShapeDtypeStruct,
    checking_leaks,
    custom_vjp,
    debug_key_reuse,
    enable_x64,
    errors,
    eval_shape,
    grad,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linear_transpose,
    linearize,
    numpy_dtype_promotion,
    random,
    sharding,
    tree_util,
    vjp,
    vmap,
)
from glassjax.errors import page_of


@pytest.fixture(autouse=True)
def _as_documented():
    """What pages show is what a user sees, who has set nothing."""
    with enable_x64(False):
        yield


ROOT = Path(__file__).parents[4]
PAGES_OF_ERRORS = Path(glassjax.__file__).with_name("errors") / "pages"
CLASSES = [getattr(errors, name) for name in errors.__all__]
BASES = {errors.InconclusiveDimensionOperation, errors.JAXIndexError, errors.JAXTypeError}
CLASSES = [cls for cls in CLASSES if cls not in BASES]
PAGES = sorted({page_of(cls) for cls in CLASSES})


def test_all_errors_of_the_library_are_in_one_module():
    found, pending = set(), [Exception]
    while pending:
        below = pending.pop().__subclasses__()
        found.update(cls for cls in below if page_of(cls) and "checkify" not in cls.__module__)
        pending += below
    assert found == set(CLASSES)


def test_each_error_has_a_page_which_can_be_found():
    written = {path.stem for path in PAGES_OF_ERRORS.glob("*.md")} - {"index"}
    navigation = re.findall(r"errors/(\w+)\.md", (ROOT / "mkdocs.yml").read_text())
    listed = re.findall(r"\((\w+)\.md\)", (PAGES_OF_ERRORS / "index.md").read_text())
    assert written == set(PAGES) == set(listed) == set(navigation) - {"index"}
    assert len(listed) == len(set(listed))


def run(page, number, program, namespace):
    """What a program of a page prints."""
    file = f"{page}-{number}.py"
    linecache.cache[file] = len(program), None, program.splitlines(True), file
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, file, "exec"), namespace)
    return printed.getvalue()


def see(page):
    """The last line of a message."""
    return f"See errors/{page} in the documentation, which glassjax.explain_error() prints"


def test_a_message_has_the_address_of_its_page_on_the_site(tmp_path):
    """The site's address is a link of the installed distribution."""
    folder = tmp_path / "glassjax-1.0.dist-info"
    folder.mkdir()
    link = "Project-URL: Documentation, https://docs.example/1.0/"
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: glassjax\nVersion: 1.0\n{link}\n"
    )
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import glassjax; glassjax.jit(lambda x: 1 if x else 2)(3.0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    address = "https://docs.example/1.0/errors/TracerBoolConversionError/"
    assert f"See {address}, which glassjax.explain_error() prints" in done.stderr


@for_each("page", PAGES)
def test_a_page_shows_a_program_that_raises_the_error_and_one_that_does_not(page):
    text = (PAGES_OF_ERRORS / f"{page}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {page}\n")
    wrong, *right = re.findall(r"^```python exec.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    namespace = {"__name__": page}
    assert f"except errors.{page} as error" in wrong
    message = run(page, 0, wrong, namespace)
    assert message.rstrip().endswith(see(page))
    (*_, line) = re.findall(rf"{page}-0.py:(\d+) \(in ", message)
    assert wrong.splitlines()[int(line) - 1].strip()
    assert right
    for number, program in enumerate(right, 1):
        printed = run(page, number, program, namespace)
        assert printed
        assert "See errors/" not in printed


def kept(transformation, x):
    """A tracer that has left its function."""
    found = []

    def keep(x):
        found.append(x)
        return x

    transformation(keep)(x)
    return found[0]


ones2, ones3 = np.ones(2, np.float32), np.ones(3, np.float32)
one, two = jnp.float32(1), jnp.int32(2)


def branching(x):
    return 1.0 if x > 0 else 2.0


def with_leak():
    found = []
    with checking_leaks():
        jit(lambda x: found.append(x))(1.0)


def strictly_added():
    with numpy_dtype_promotion("strict"):
        return one + two


def used_twice():
    with debug_key_reuse(True):
        key = random.key(0)
        return random.normal(key), random.uniform(key)


@partial(custom_vjp, nondiff_argnums=0)
def bounded(most, x):
    return x


bounded.defvjp(lambda most, x: (x, None), lambda most, _, ct: (jnp.minimum(ct, most),))


def closing_over(a):
    @custom_vjp
    def scaled(x):
        return a * x

    scaled.defvjp(lambda x: (a * x, None), lambda _, ct: (a * ct,))
    return scaled(a)


def loop_of(types):
    """A loop whose carry swaps the types of two of its leaves."""
    return lambda c, x: ({**c, "a": c["b"], "b": c["a"]}, x)


def of_divided(function):
    """The type of a function's result, for an argument whose rows are divided among devices."""
    mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    with sharding.use_abstract_mesh(mesh):
        return eval_shape(function, ShapeDtypeStruct((8, 8), "float32", sharding=P("x")))


# fmt: off
TABLE = [
    (lambda: jit(branching)(1.0), errors.TracerBoolConversionError, "argument x of `branching`.*where"),
    (lambda: vmap(branching)(ones3), errors.TracerBoolConversionError, "one value of type bool.*where"),
    (lambda: lax.scan(lambda c, x: (c, branching(x)), 0.0, ones3), errors.TracerBoolConversionError, "which scan traces once.*cond"),
    (lambda: jit(grad(branching))(1.0), errors.TracerBoolConversionError, "argument x of `branching`"),
    (lambda: jit(lambda n: jnp.zeros(n))(3), errors.TracerIntegerConversionError, "zeros: shape must be known.*argument n.*static"),
    (lambda: jit(lambda n: jnp.arange(n))(3), errors.TracerIntegerConversionError, "arange: stop must be known.*static"),
    (lambda: jit(lambda n: jnp.arange(n, 5))(3), errors.TracerIntegerConversionError, "arange: start must be known.*static"),
    (lambda: jit(lambda n: random.split(random.key(0), n))(3), errors.TracerIntegerConversionError, "static"),
    (lambda: jit(lambda n: lax.scan(lambda c, x: (c, x), 0.0, length=n))(3), errors.TracerIntegerConversionError, "scan: length must be known.*fori_loop.*argument n"),
    (lambda: jit(lambda i: [1, 2][i])(1), errors.TracerIntegerConversionError, "static"),
    (lambda: jit(lambda x: int(x))(1.5), errors.TracerIntegerConversionError, "astype"),
    (lambda: jit(np.sin)(1.0), errors.TracerArrayConversionError, "in place of numpy's"),
    (lambda: grad(lambda x: np.sin(x))(1.0), errors.TracerArrayConversionError, "lose its derivative.*in place of numpy's"),
    (lambda: vmap(np.sin)(ones3), errors.TracerArrayConversionError, "in place of numpy's"),
    (lambda: jit(lambda x: x.tolist())(1.0), errors.TracerArrayConversionError, "out of the transformed function"),
    (lambda: jit(pickle.dumps)(1.0), errors.TracerArrayConversionError, "to pickle it, is needed.*out of the transformed function"),
    (lambda: jit(lambda x: f"{x:.2f}")(1.0), errors.ConcretizationTypeError, "debug.print"),
    (lambda: jit(float)(1.0), errors.ConcretizationTypeError, "Keep it an array"),
    (lambda: jit(jnp.nonzero)(ones3), errors.ConcretizationTypeError, "Give size="),
    (lambda: jit(jnp.unique)(ones3), errors.ConcretizationTypeError, "Give size="),
    (lambda: jit(lambda n: jnp.repeat(ones3, n))(two), errors.ConcretizationTypeError, "argument n.*total_repeat_length="),
    (lambda: jit(lambda x: x[x > 0])(ones3), errors.NonConcreteBooleanIndexError, "where"),
    (lambda: jit(lambda x, i: x[:i])(ones3, 2), errors.NonConcreteSliceError, "position 0.*dynamic_slice"),
    (lambda: jnp.add(kept(jit, 1.0), 1), errors.UnexpectedTracerError, "belongs to the jit of `keep`.*Return it"),
    (lambda: jnp.sin(kept(vmap, ones3)), errors.UnexpectedTracerError, "belongs to the vmap of `keep`.*Return it"),
    (lambda: jnp.exp(kept(grad, 1.0)), errors.UnexpectedTracerError, "belongs to the jvp of `keep`.*Return it"),
    (lambda: grad(lambda a: bounded(a, a))(1.0), errors.UnexpectedTracerError, "backward rule `<lambda>` of `bounded`.*nondiff_argnums.*Make it an argument"),
    (lambda: grad(closing_over)(1.0), errors.UnexpectedTracerError, "forward rule `<lambda>` of `scaled`.*closes over.*Make it an argument"),
    (with_leak, errors.LeakedTracerError, "kept in a list.*Return values"),
    (lambda: glassjax.devices("abacus"), errors.PlatformError, "PJRT_NAMES_AND_LIBRARY_PATHS=abacus:"),
    (lambda: of_divided(lambda x: x.T @ x), errors.ShardingTypeError, "summed over.*out_sharding=P"),
    (lambda: of_divided(lambda x: x + x.T), errors.ShardingTypeError, "shard only one axis.*reshard"),
    (lambda: of_divided(lambda x: jnp.sort(x, 0)), errors.ShardingTypeError, "works along that axis.*reshard"),
    (lambda: of_divided(lambda x: x[jnp.arange(2)]), errors.ShardingTypeError, r"get\(out_sharding=P"),
    (lambda: of_divided(lambda x: x.T.reshape(64)), errors.ShardingTypeError, "ambiguous.*out_sharding=P"),
    (lambda: of_divided(lambda x: x[1:]), errors.ShardingTypeError, "not a multiple of the 4 devices"),
    (lambda: lax.psum(1.0, "i"), errors.UnboundAxisError, "axis_name="),
    (lambda: vmap(lambda x: lax.psum(x, "j"), axis_name="i")(ones3), errors.UnboundAxisError, "bound here: 'i'"),
    (lambda: jit(lambda x: lax.axis_index("i"))(1.0), errors.UnboundAxisError, "axis_name="),
    (lambda: grad(lambda x: x)(ones3), errors.NonScalarGradientError, "Sum over it"),
    (lambda: jit(grad(lambda x: x))(ones3), errors.NonScalarGradientError, "Sum over it"),
    (lambda: grad(lambda x: (x, x))(1.0), errors.NonScalarGradientError, "has_aux=True"),
    (lambda: grad(branching)(3), errors.IntegerGradientError, "Make it a float"),
    (lambda: grad(lambda x: 1)(3.0), errors.IntegerGradientError, "Convert it"),
    (lambda: jacrev(branching)(3), errors.IntegerGradientError, "argnums"),
    (lambda: jacfwd(branching)(3), errors.IntegerGradientError, "argnums"),
    (lambda: grad(lambda x: 1j * x)(3.0), errors.ComplexGradientError, "holomorphic=True"),
    (lambda: grad(lambda x: x, holomorphic=True)(3.0), errors.ComplexGradientError, "leave out holomorphic"),
    (lambda: jacfwd(lambda x: x)(3j), errors.ComplexGradientError, "holomorphic=True"),
    (lambda: jvp(jnp.sin, (ones3,), (ones2,)), errors.TangentTypeError, r"found f32\[2\].*Make the tangent"),
    (lambda: vjp(jnp.sin, ones3)[1](ones2), errors.TangentTypeError, r"found f32\[2\].*Make the cotangent"),
    (lambda: linearize(jnp.sin, ones3)[1](ones2), errors.TangentTypeError, r"found f32\[2\].*Make the tangent"),
    (lambda: linear_transpose(lambda x: x * x, 1.0)(1.0), errors.NonlinearError, "use vjp"),
    (lambda: lax.scan(lambda c, x: (c + 1.5, x), two, ones3), errors.CarryTypeError, r"carry +i32\[\] +f32\[\].*astype"),
    (lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 1.5), (0, two)), errors.CarryTypeError, r"carry\[1\] +i32\[\] +f32\[\].*astype"),
    (lambda: lax.fori_loop(0, 3, lambda i, x: {"a": x["a"] * 1.5}, {"a": two}), errors.CarryTypeError, r"fori_loop: .*carry\['a'\] +i32\[\] +f32\[\].*astype"),
    (lambda: jit(lambda n: lax.fori_loop(0, n, lambda i, x: x * 1.5, two))(3), errors.CarryTypeError, r"fori_loop: .*carry +i32\[\] +f32\[\].*astype"),
    (lambda: lax.fori_loop(0, 3, lambda i, x: (x, x), two), errors.CarryTypeError, "fori_loop: .*at carry: expected a leaf, found tuple of 2.*Return the tree"),
    (lambda: lax.scan(lambda c, x: ((c, c), x), one, ones3), errors.CarryTypeError, "at carry: expected a leaf, found tuple of 2.*Return the tree"),
    (lambda: lax.scan(lambda c, x: ({"a": c["b"], "b": c["a"]}, x), {"a": ones2, "b": ones3}, ones3), errors.CarryTypeError, r"carry\['a'\] +f32\[2\] +f32\[3\].*carry\['b'\] +f32\[3\] +f32\[2\]"),
    (lambda: lax.cond(True, lambda x: x, lambda x: ones3, 1.0), errors.BranchTypeError, r"result +f32\[3\], f32\[\].*Convert"),
    (lambda: lax.cond(True, lambda x: (x, x), lambda x: x, 1.0), errors.BranchTypeError, "expected tuple of 2, found a leaf.*zeros"),
    (lambda: lax.switch(0, [lambda x: x, lambda x: ones3], 1.0), errors.BranchTypeError, "Convert"),
    (lambda: lax.switch(0, [lambda x: (x, x), lambda x: x], 1.0), errors.BranchTypeError, "zeros"),
    (lambda: vmap(jnp.add)(ones2, ones3), errors.MappedAxisError, "differ in size.*in_axes"),
    (lambda: vmap(jnp.sin)(1.0), errors.MappedAxisError, "no axis 0.*in_axes"),
    (lambda: vmap(jnp.sin, None)(ones3), errors.MappedAxisError, "nothing is mapped.*in_axes"),
    (lambda: vmap(jnp.sin, (0, 0))(ones3), errors.MappedAxisError, "2 entries.*Give an entry"),
    (lambda: vmap(jnp.sin, out_axes=None)(ones3), errors.MappedAxisError, "Give out_axes an int"),
    (lambda: vmap(jnp.sin, ({"b": 0},))({"a": ones3}), errors.TreeMismatchError, r"args\[0\].*aux data \('b',\), found"),
    (lambda: tree_util.tree_map(jnp.add, [1, (2, 3)], [1, 2]), errors.TreeMismatchError, r"rest\[0\]\[1\]: expected tuple of 2.*Bring both"),
    (lambda: jvp(jnp.sin, (1.0,), (1.0, 2.0)), errors.TreeMismatchError, "Give a tangent for each"),
    (lambda: vjp(lambda x: (x, x), 1.0)[1](1.0), errors.TreeMismatchError, "Give a cotangent for each"),
    (lambda: ones2 + jnp.ones(3), errors.ShapeMismatchError, r"\(2,\) and \(3,\).*equal, or one of them 1"),
    (lambda: jit(jnp.matmul)(np.ones((2, 3)), np.ones((2, 3))), errors.ShapeMismatchError, "sizes are 3 and 2.*Transpose"),
    (lambda: jnp.ones(3).reshape(2, 2), errors.ShapeMismatchError, "3 elements.*-1"),
    (lambda: jnp.broadcast_to(ones3, (2,)), errors.ShapeMismatchError, r"\(3,\).*\(2,\).*Reshape"),
    (strictly_added, errors.TypePromotionError, "astype"),
    (used_twice, errors.KeyReuseError, r"by `normal` at .* and by `uniform` at .*random.split"),
]
# fmt: on


@for_each(("call", "cls", "words"), TABLE)
def test_a_message_has_the_line_the_remedy_and_the_page(call, cls, words):
    with pytest.raises(cls) as caught:
        call()
    assert type(caught.value) is cls
    message = str(caught.value)
    assert re.search(words, message, re.DOTALL), message
    lines = [int(number) for number in re.findall(r"test_errors.py:(\d+) \(in ", message)]
    code = call.__code__
    last = max(line for *_, line in code.co_lines() if line)
    assert any(code.co_firstlineno <= line <= last for line in lines) or any(
        "test_errors.py" in message and f"in {name})" in message
        for name in ("branching", "keep", "<lambda>")
    )
    assert message.endswith("\n" + see(page_of(cls)))
    assert message.count("See errors/") == 1


def test_every_error_that_users_meet_is_in_the_table():
    of_pages_only = {
        errors.CompileError,
        errors.ConcretizationTypeError,
        errors.ExecutionError,
        errors.JaxRuntimeError,
        errors.JaxprTypeError,
        errors.MissingRuleError,
    }
    assert {cls for _, cls, _ in TABLE} | of_pages_only == set(CLASSES)


def test_an_error_survives_pickling():
    with pytest.raises(errors.TreeMismatchError) as caught:
        tree_util.tree_map(jnp.add, [1], (1,))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (errors.TreeMismatchError, str(caught.value))


def test_errors_of_xla_say_more_and_keep_the_program():
    error = pickle.loads(pickle.dumps(errors.CompileError("no such operation", "module {}")))
    assert error.text == "module {}"
    assert "cannot compile this program: no such operation" in str(error)


@for_each("which", [errors.CarryTypeError, "CarryTypeError", errors.CarryTypeError("")])
def test_the_page_of_an_error_is_shipped_and_printed(which, capsys):
    glassjax.explain_error(which)
    assert capsys.readouterr().out.startswith("# CarryTypeError\n\nThe body of `scan`")


def test_the_error_that_is_handled_is_explained(capsys):
    with pytest.raises(ValueError, match="explain_error: no error was raised"):
        glassjax.explain_error()
    try:
        jit(branching)(1.0)
    except TypeError:
        glassjax.explain_error()
    assert capsys.readouterr().out.startswith("# TracerBoolConversionError\n")
    with pytest.raises(ValueError, match="'KeyError' has no page; these have one: BranchTypeError"):
        glassjax.explain_error(KeyError)


@for_each("stage", ["trace", "lower", "eval_shape", "__call__"])
def test_an_argument_that_a_jitted_function_lacks_is_named(stage):
    # It said that `self` "cannot be <PjitFunction of ...>".
    def f(x, y):
        return x

    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'y'"):
        getattr(glassjax.jit(f), stage)(1.0)

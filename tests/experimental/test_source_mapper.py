"""`experimental.source_mapper`, beside JAX."""

import dataclasses
import json
import pathlib
import re
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from jax.experimental import source_mapper as theirs

import glassjax
from glassjax.experimental import source_mapper as ours

pytestmark = pytest.mark.compiled_anew

X = np.ones(3, np.float32)


def program(lib):
    def f(x):
        y = lib.numpy.sin(x)
        return y * y + x

    return f


FIRST = program.__code__.co_firstlineno + 1  # the line of `y`, from zero


def fields(source_map):
    return json.loads(source_map.to_json())


def mapped(dump):
    """Of each mapped line of the text, the line of the source."""
    line, found = 0, []
    for text, segments in zip(
        [*dump.generated_code.split("\n"), ""], dump.source_map.mappings, strict=True
    ):
        for segment in segments:
            line += segment[2]
            found.append((text.strip(), line))
    return found


def test_the_map_of_a_jaxpr_is_that_of_jax():
    mine, other = (
        s.generate_sourcemaps(program(lib), s.filter_passes("jaxpr"))(X)
        for lib, s in ((glassjax, ours), (jax, theirs))
    )
    assert mine[0].generated_code == other[0].generated_code
    assert mine[0].pass_name == other[0].pass_name
    assert fields(mine[0].source_map) == fields(other[0].source_map)


def test_lines_of_a_long_jaxpr():
    def loop(x):
        return glassjax.lax.fori_loop(0, 3, lambda i, x: program(glassjax)(x), x)

    (dump,) = ours.generate_sourcemaps(loop, ours.filter_passes("jaxpr"))(X)
    assert dump.generated_code == str(glassjax.make_jaxpr(loop)(X))
    lines = dict(mapped(dump))
    for text, line in lines.items():
        if " = sin" in text or " = mul" in text:
            assert line == FIRST + (" = mul" in text)
    assert any(" = sin" in text for text in lines)


def test_lowered_and_compiled_programs():
    stable, optimized = ours.generate_sourcemaps(program(glassjax), ours.filter_passes("hlo"))(X)
    for dump, name in ((stable, "sine"), (optimized, "sine")):
        assert dump.source_map.sources == [__file__]
        lines = mapped(dump)
        assert {line for _, line in lines} == {FIRST, FIRST + 1}
        assert all(line == FIRST for text, line in lines if name in text.split("(")[0])


def test_maps_of_numbered_locations_are_those_of_jax():
    text = jax.jit(program(jax)).lower(X).as_text(debug_info=True)
    assert fields(ours.create_mlir_sourcemap(text)) == fields(theirs.create_mlir_sourcemap(text))


def test_json():
    generators = ours.MappingsGenerator(), theirs.MappingsGenerator()
    for mappings in generators:
        mappings.new_group()
        mappings.new_segment(3)
        mappings.new_segment(900, 1, 12345, 7)
        mappings.new_group()
        mappings.new_group()
        mappings.new_segment(2, 0, 16, 33, 4)
        mappings.new_segment(5, 1, 15, 0)
    found, expected = (mappings.mappings() for mappings in generators)
    assert found == expected
    arguments = 3, ["a.py", "b.py"], ["", ""], ["n"] * 5, found
    mine, other = ours.SourceMap(*arguments), theirs.SourceMap(*arguments)
    assert mine.to_json() == other.to_json()
    assert dataclasses.asdict(ours.SourceMap.from_json(other.to_json())) == dataclasses.asdict(mine)
    with pytest.raises(ValueError, match="numbers"):
        generators[0].new_segment(1, 2)
    with pytest.raises(RuntimeError, match="new_group"):
        ours.MappingsGenerator().new_segment(1)


def test_passes(monkeypatch):
    (one,) = ours.filter_passes("jaxpr")
    assert one in ours.all_passes()
    with pytest.raises(ValueError, match="jaxpr"):
        ours.register_pass(one)
    with pytest.raises(TypeError, match="generate_sourcemaps"):
        ours.generate_sourcemaps(3, [])
    ours.compile_with_env(program(glassjax), (X,), {}, {}, None)
    names, flags = [], SimpleNamespace(FLAGS=SimpleNamespace(verbosity=1))
    monkeypatch.setitem(sys.modules, "absl.flags", flags)
    with ours.flag_env(verbosity=2):
        names.append(flags.FLAGS.verbosity)
    assert (names, flags.FLAGS.verbosity) == ([2], 1)
    monkeypatch.delitem(sys.modules, "absl.flags")
    with pytest.raises(ValueError, match="absl"), ours.flag_env(verbosity=2):
        pass


@pytest.mark.compiled_anew
def test_names_of_files_in_source_maps():
    folder = re.escape(str(pathlib.Path(__file__).parent))
    with glassjax.config.override(hlo_source_file_canonicalization_regex=f"^{folder}"):
        assert ours.canonicalize_filename(__file__) == "/test_source_mapper.py"
        passes = ours.filter_passes("^jaxpr$")
        (dump,) = ours.generate_sourcemaps(lambda x: x + 1, passes)(1.0)
        assert list(dump.source_map.sources) == ["/test_source_mapper.py"]
    assert ours.canonicalize_filename(__file__) == __file__

"""`explain_memory`: live buffers, their lines, residuals, and what checkpoints save."""

import itertools

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import checkpoint, explain_memory, grad, jit, lax, value_and_grad, xla
from glassjax.__main__ import main
from glassjax.explaining.live_buffers import LiveBuffers
from glassjax.transforms.chosen_checkpoints import checkpoints_in
from glassjax.xla.hlo import read_module

BATCH = jnp.ones((256, 16))
WEIGHTS = jnp.ones((6, 16, 16))


def layer(w, x):
    h = jnp.tanh(x @ w)  # line of the tanh
    return jnp.sin(h) * x


def unrolled(ws, x):
    for w in ws:
        x = layer(w, x)
    return jnp.sum(x**2)


def scanned(ws, x):
    return jnp.sum(lax.scan(lambda x, w: (layer(w, x), None), x, ws)[0] ** 2)


def branching(ws, x):
    y = lax.cond(x[0, 0] > 0, lambda x: layer(ws[0], x), jnp.cos, x)
    return jnp.sum(y @ y.T)


def iterated(ws, x):
    def body(state):
        i, x = state
        return i + 1, layer(ws[i], x)

    return jnp.sum(lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1])


def nested(ws, x):
    def outer(x, w):
        x = lax.fori_loop(0, 3, lambda _, x: layer(w, x), x)
        return x, jnp.sum(x)

    x, sums = lax.scan(outer, x, ws)
    return jnp.sum(sums) + jnp.max(jnp.sort(x, axis=0))


PROGRAMS = [
    *map(value_and_grad, (unrolled, scanned, branching, nested)),
    *map(checkpoint, (unrolled, scanned)),
    iterated,
    jit(scanned),
]


def live_buffers(fun, *args, with_assignment=True):
    compiled = jit(fun).lower(*args).compile()
    executable = compiled.compiled.executable
    assignment = xla.buffer_assignment(executable) if with_assignment else b""
    return LiveBuffers(read_module(xla.optimized_module(executable)), assignment), compiled


@for_each("fun", PROGRAMS)
def test_live_buffers_never_overlap_in_memory(fun):
    live, _ = live_buffers(fun, WEIGHTS, BATCH)
    for moment in range(live.moments):
        places = sorted({buffer.place for buffer in live.at(moment)})
        for one, next_one in itertools.pairwise(places):
            apart = one.offset + one.size <= next_one.offset
            assert one.allocation != next_one.allocation or apart


@for_each("fun", PROGRAMS)
def test_no_more_lives_than_xla_sets_aside(fun):
    live, compiled = live_buffers(fun, WEIGHTS, BATCH)
    sizes = compiled.memory_analysis()
    outside = sizes.argument_size_in_bytes + sizes.output_size_in_bytes
    constants = sum(buffer.place.size for buffer in live.buffers if buffer.is_constant)
    over_time = live.bytes_over_time()
    assert min(over_time) >= sizes.argument_size_in_bytes
    assert max(over_time) <= outside + sizes.temp_size_in_bytes + constants
    # What XLA sets aside is packed: it is hardly more than what lives at once.
    assert max(over_time) >= 0.8 * (outside + sizes.temp_size_in_bytes)


@for_each("fun", PROGRAMS)
def test_the_bytes_over_time_are_those_of_the_buffers(fun):
    live, _ = live_buffers(fun, WEIGHTS, BATCH)
    sums = [sum(buffer.place.size for buffer in live.at(m)) for m in range(live.moments)]
    assert sums == live.bytes_over_time()


@for_each("fun", [value_and_grad(unrolled), iterated, jit(scanned)])
def test_without_an_assignment_values_have_places_of_their_own(fun):
    told = max(live_buffers(fun, WEIGHTS, BATCH)[0].bytes_over_time())
    computed = max(live_buffers(fun, WEIGHTS, BATCH, with_assignment=False)[0].bytes_over_time())
    assert told <= computed <= 1.5 * told


@for_each("fun", [unrolled, scanned])
def test_residuals_belong_to_the_lines_that_compute_them(fun):
    memory = explain_memory(grad(fun), checkpoints=False)(WEIGHTS, BATCH)
    assert sum(row.bytes for row in memory.rows) == memory.peak_bytes == max(memory.over_time)
    tanh = layer.__code__.co_firstlineno + 1
    (row,) = (row for row in memory.rows if row.place.line == tanh)
    assert row.place.text.startswith("h = jnp.tanh")
    kept = len(WEIGHTS) * BATCH.nbytes  # the result of each tanh
    assert row.residuals >= kept
    forward = explain_memory(fun)(WEIGHTS, BATCH)
    assert not any(row.residuals for row in forward.rows)
    assert not forward.savings


@for_each("fun", [unrolled, scanned])
def test_a_measured_checkpoint_saves_what_one_in_the_program_saves(fun, monkeypatch):
    step = value_and_grad(fun)
    memory = explain_memory(step)(WEIGHTS, BATCH)
    (saving,) = (saving for saving in memory.savings if saving.name == "layer")
    with monkeypatch.context() as patched:
        patched.setitem(globals(), "layer", checkpoint(layer))
        by_hand = explain_memory(step, checkpoints=False)(WEIGHTS, BATCH)
    expected = memory.peak_bytes - by_hand.peak_bytes
    assert saving.bytes > 0.2 * memory.peak_bytes
    assert saving.bytes == pytest.approx(expected, rel=0.25)
    assert str(saving).startswith("checkpoint around test_memory.py:")


@for_each("fun", [unrolled, scanned, branching])
def test_chosen_checkpoints_change_no_gradient(fun):
    with checkpoints_in(layer.__code__):
        program = str(glassjax.make_jaxpr(grad(fun))(WEIGHTS, BATCH))
        found = grad(fun)(WEIGHTS, BATCH)
    assert fun is branching or "remat2[" in program
    np.testing.assert_allclose(found, grad(fun)(WEIGHTS, BATCH), rtol=1e-5)


def test_memory_is_text_a_picture_and_a_page(tmp_path):
    memory = explain_memory(value_and_grad(scanned))(WEIGHTS, BATCH)
    text = str(memory)
    for part in "live at the peak", "█", "saves":
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    memory.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<polygon") >= 2
    assert "h = jnp.tanh(x @ w)" in page


def test_the_command_line(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(
        "import glassjax.numpy as jnp\ndef f(w):\n    return jnp.sum(jnp.tanh(w @ w))\n"
    )
    main(["memory", f"{file}:f", "f32[64,64]", "--grad"])
    assert "model.py:3" in capsys.readouterr().out
    main(["memory", f"{file}:f", "f32[64,64]", "--save", str(tmp_path / "page.html")])
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")

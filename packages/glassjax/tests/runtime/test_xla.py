"""The use of jaxlib: buffers, executables, forks, interrupts."""

import os
import signal
import textwrap
import threading

import numpy as np
import pytest
from backend_programs import aval, aval_of, elementwise, in_fresh_process, put
from rows import for_each

from glassjax import xla
from glassjax_stage3 import backend
from glassjax_stage3.errors import CompileError

# Uses every function of the room, once.
USE_EVERYTHING = textwrap.dedent("""
    from types import SimpleNamespace
    import ml_dtypes, numpy as np
    from glassjax import xla
    from glassjax_stage3 import backend as b

    def use_everything():
        vector = lambda dtype: SimpleNamespace(shape=(4,), dtype=np.dtype(dtype), weak_type=False)
        text = '''module { func.func public @main(%x: tensor<4xDTYPE>) -> tensor<4xDTYPE> {
            %0 = stablehlo.add %x, %x : tensor<4xDTYPE>
            return %0 : tensor<4xDTYPE> } }'''
        for dtype, name in [(ml_dtypes.bfloat16, "bf16"), ("int64", "i64"), ("float64", "f64")]:
            x = np.arange(4).astype(dtype)
            program = b.compile(text.replace("DTYPE", name), [vector(dtype)])
            buffer = b.put(x, vector(dtype))
            (result,) = program.execute([buffer])
            xla.block_until_computed(result)
            assert xla.is_ready(result) and not xla.is_deleted(result)
            assert b.get(result).dtype == dtype and (b.get(result) == x + x).all()
            assert xla.nbytes(result) == x.nbytes
            assert xla.buffer_device(result) is xla.default_device()
            assert xla.to_dlpack(result) and xla.to_dlpack(result, (1, 0))
            assert xla.dlpack_device(result) == (1, 0)
            assert xla.cost_analysis(program) and xla.memory_analysis(program)
            again = xla.deserialize(xla.serialize(program), [vector(dtype)])
            assert (b.get(again.execute([buffer])[0]) == x + x).all()
        portable = xla.to_portable(text.replace("DTYPE", "f64"))
        assert "stablehlo.add" in xla.from_portable(portable)[0]
        assert xla.client() and xla.devices() and xla.platform() and xla.jaxlib_version()
        assert xla.fingerprint() and isinstance(xla.xla_flags(), str)
        assert xla.pytree_registry().flatten((1, [2]))[0] == [1, 2]
        return buffer, result, program
    """)


def test_the_registry_in_cpp_is_silent_if_it_comes_first():
    """jaxlib reads the level of its log when it is imported, which is not only for a client."""
    in_fresh_process("""
        from glassjax import xla
        xla.pytree_registry()
        xla.client()
        """)


@pytest.mark.cpu_only
def test_devices():
    assert xla.platform() == "cpu"
    assert xla.default_device() is xla.devices()[0]
    assert xla.jaxlib_version()[0].isdigit()
    assert isinstance(xla.default_device(), xla.device_class())


def test_options_reach_xla():
    text = elementwise("stablehlo.exponential", 8)
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    program = xla.compile(text, [aval_of(x)], {"xla_cpu_enable_fast_math": True})
    np.testing.assert_allclose(backend.get(program.execute([put(x)])[0]), np.exp(x), rtol=1e-5)
    with pytest.raises(CompileError, match=r"XLA cannot compile this program: .*xla_no_such_flag"):
        xla.compile(text, [aval_of(x)], {"xla_no_such_flag": 1})


def test_the_kind_of_client_is_chosen_before_the_first_use():
    in_fresh_process("""
        from glassjax import xla
        from glassjax.xla.clients import set_client_option
        set_client_option("asynchronous", True)
        set_client_option("asynchronous", False)
        set_client_option("asynchronous", True)
        xla.client()
        set_client_option("asynchronous", True)
        try:
            set_client_option("asynchronous", False)
        except RuntimeError as error:
            assert "computing has begun, with asynchronous=True; choose before" in str(error), error
        else:
            raise SystemExit("too late, and no error")
        """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@for_each("asynchronous", [False, True])
def test_a_forked_child_may_read_and_exit_but_not_compute(asynchronous):
    # XLA alone hangs or crashes here: in the child's use of threads it has not, or as it exits.
    out = in_fresh_process(
        "import os, sys, warnings\nwarnings.simplefilter('ignore')\n"
        + USE_EVERYTHING
        + f"""
from glassjax.xla.clients import set_client_option
set_client_option("asynchronous", {asynchronous})
alive = use_everything()
pid = os.fork()
if pid == 0:
    assert (b.get(alive[0]) == np.arange(4)).all()
    try:
        b.get_backend()
    except RuntimeError as error:
        assert "spawn" in str(error)
        sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
use_everything()
print("parent goes on")
"""
    )
    assert out == "parent goes on\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_forked_before_the_first_use_computes():
    in_fresh_process(
        "import os, sys, warnings\nwarnings.simplefilter('ignore')\n"
        + USE_EVERYTHING
        + """
pid = os.fork()
alive = use_everything()
if pid != 0:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    )


def test_a_client_that_a_stage_opened_serves_the_library():
    in_fresh_process("""
        from glassjax_stage3 import array, backend
        x = array(1.0)
        import glassjax
        assert glassjax.jit(lambda x: x + 1)(x) == 2
        assert glassjax.devices() == backend.get_backend().client.devices()
        """)


def test_analyses():
    program = backend.compile(
        elementwise("stablehlo.add", 100, arguments="%x, %y"), [aval((100,), "f4")]
    )
    assert xla.cost_analysis(program)["flops"] == 100
    memory = xla.memory_analysis(program)
    assert memory["argument_size_in_bytes"] == 2 * 400
    assert memory["output_size_in_bytes"] == 400


def test_a_program_is_written_down_and_loaded():
    """In another process, too, where it computes and says the same, and nothing is logged."""
    x = np.linspace(-3, 3, 100).astype(np.float32)
    text = elementwise("stablehlo.tanh", 100)
    program = backend.compile(text, [aval_of(x)])
    loaded = xla.deserialize(xla.serialize(program), [aval_of(x)])
    (expected,), (result,) = program.execute([put(x)]), loaded.execute([put(x)])
    assert backend.get(result).tobytes() == backend.get(expected).tobytes()
    assert loaded.hlo_text() == program.hlo_text()
    assert xla.cost_analysis(loaded) == xla.cost_analysis(program)
    assert xla.memory_analysis(loaded) == xla.memory_analysis(program)
    shown = in_fresh_process(f"""
        from types import SimpleNamespace
        import numpy as np
        from glassjax import xla
        from glassjax_stage3 import backend
        x = np.linspace(-3, 3, 100).astype(np.float32)
        aval = SimpleNamespace(shape=x.shape, dtype=x.dtype, weak_type=False)
        loaded = xla.deserialize({xla.serialize(program)!r}, [aval])
        (result,) = loaded.execute([backend.put(x, aval)])
        print(backend.get(result).tobytes().hex())
        """)
    assert shown.strip() == backend.get(expected).tobytes().hex()


def test_a_constant_that_looks_like_a_list_of_abilities_stays():
    """What `serialize` changes in such a list, it changes nowhere else."""
    x = np.frombuffer(b"+avx512f,+prefer-no-gather " * 3, np.uint8)
    text = f"""module {{ func.func public @main() -> tensor<{x.size}xui8> {{
        %0 = stablehlo.constant dense<"0x{x.tobytes().hex()}"> : tensor<{x.size}xui8>
        return %0 : tensor<{x.size}xui8> }} }}"""
    loaded = xla.deserialize(xla.serialize(backend.compile(text, [aval_of(x)])), [aval_of(x)])
    (result,) = loaded.execute([])
    assert backend.get(result).tobytes() == x.tobytes()


@for_each("data", [b"", b"no program at all"])
def test_what_xla_did_not_write_is_an_error(data):
    with pytest.raises(RuntimeError):
        xla.deserialize(data, [])


def test_the_fingerprint_is_the_same_in_every_process():
    program = "from glassjax import xla; print(repr(xla.fingerprint()))"
    assert in_fresh_process(program).strip() == repr(xla.fingerprint())
    assert xla.fingerprint()[0] == xla.jaxlib_version()


def test_flags_are_those_that_xla_read():
    program = """
        import os
        from glassjax import xla
        xla.client()
        os.environ["XLA_FLAGS"] = "--too-late"
        print(xla.xla_flags())
        """
    flags = "--xla_cpu_enable_fast_math=false"
    assert in_fresh_process(program, XLA_FLAGS=flags).strip() == flags


def test_nothing_imports_jax(tmp_path):
    # A decoy stands where jax would be: jaxlib's entry points that import jax would find it.
    (tmp_path / "jax").mkdir()
    decoy = "import os; os.write(2, b'jax was imported'); os._exit(3)"
    (tmp_path / "jax" / "__init__.py").write_text(decoy)
    in_fresh_process(
        USE_EVERYTHING + "use_everything()\nimport sys; assert 'jax' not in sys.modules",
        str(tmp_path),
    )


# Interrupts


@pytest.mark.parametrize("module", ["jaxlib._jax", "jaxlib.mlir.ir"])
def test_an_interrupt_waits_for_the_import_of_jaxlib(module):
    # Ctrl-C while jaxlib made its enums: "Critical nanobind error", and the process was aborted.
    printed = in_fresh_process(f"""
        import enum, signal
        import numpy as np
        from glassjax import jit
        from glassjax.xla import import_module

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        create, interrupts = enum.EnumType._create_, []

        def interrupted(*args, **kwargs):
            interrupts.append(signal.raise_signal(signal.SIGINT))
            return create(*args, **kwargs)

        enum.EnumType._create_ = interrupted
        handler = signal.getsignal(signal.SIGINT)
        try:
            import_module({module!r})
        except KeyboardInterrupt:
            print("interrupted")
        enum.EnumType._create_ = create
        assert interrupts and signal.getsignal(signal.SIGINT) is handler
        print(jit(lambda x: x + 1)(np.ones(2)))
    """)
    assert printed == "interrupted\n[2. 2.]\n"


@pytest.fixture
def interrupts_handled():
    """Python's handler of SIGINT, which a job in the background of a shell ignores."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, previous)


def test_interrupts_are_deferred_to_the_end_of_a_block(interrupts_handled):
    done = []

    def block():
        with xla.interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("block")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == ["block"]
    assert signal.getsignal(signal.SIGINT) is interrupts_handled


def test_another_thread_leaves_the_handler_of_interrupts(interrupts_handled):
    seen = []

    def elsewhere():
        with xla.interrupts_deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [interrupts_handled]


def test_interrupts_that_are_ignored_stay_ignored():
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with xla.interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, previous)

"""The effects of an import, of process exit and of forks."""

import os
import subprocess
import sys
import textwrap

import pytest
from shares import one_in


def run(program, *flags, ends_with=0):
    """Runs a program by itself, and returns what it prints to both streams."""
    env = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}  # set by glassjax
    env.setdefault("GLASSJAX_SLOW_COMPILE_NOTICE_SECS", "30")  # machines may be busy
    done = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(program)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == ends_with, done.stderr
    return done.stdout, done.stderr


USE = """
    import sys, threading, time
    import numpy as np
    import glassjax, glassjax.numpy as jnp
    from glassjax import grad, jit, vmap

    @jit
    def f(x):
        return jnp.sum(jnp.sin(x) * x)

    x = jnp.arange(1000.0)
    y, g = f(x), jit(grad(f))(x)
    view, shared, batch = np.asarray(x), np.from_dlpack(g), vmap(lambda x: x * 2.0)(x)
"""


def test_importing_says_nothing_and_starts_nothing():
    printed = run(
        """
        import sys, threading
        before = set(sys.modules)
        import glassjax, glassjax.numpy
        assert threading.active_count() == 1
        loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
        assert not loaded & {"jax", "jaxlib"}, loaded
        assert glassjax.make_jaxpr(glassjax.grad(glassjax.numpy.sin))(1.0)
        loaded = {name.partition(".")[0] for name in sys.modules}
        assert not loaded & {"jax", "jaxlib"}, loaded
        """,
        *("-W", "error"),
    )
    assert printed == ("", "")


def test_using_it_says_nothing_and_leaves_no_thread_of_python():
    """The thread that watches for slow compilations ends when nothing is compiled any more."""
    soon = """
    import os
    os.environ["GLASSJAX_SLOW_COMPILE_NOTICE_SECS"] = "3"
    """
    alone = """
    for thread in threading.enumerate():
        if thread.name == "glassjax-slow-compiles":
            thread.join(200)
    assert threading.active_count() == 1
    """
    assert run(soon + USE + alone, "-W", "error") == ("", "")


# What a program may still do as it ends.
ENDINGS = {
    "with all in a cycle": "cycle = [x, y, g, view, shared, batch, f]; cycle.append(cycle)",
    "by sys.exit": "sys.exit(0)",
    "with a thread that exits": """
        thread = threading.Thread(target=lambda: (f(x + 1), sys.exit(3)))
        thread.start()
        """,
    "with a thread that is still computing": """
        def compute():
            for _ in range(300):
                f(x + 1).tolist()

        threading.Thread(target=compute).start()
        """,
    "with a daemon that waits": """
        done = threading.Event()

        def compute():
            f(x + 1).tolist()
            done.set()
            threading.Event().wait()

        threading.Thread(target=compute, daemon=True).start()
        done.wait()
        """,
    "in atexit": """
        import atexit
        atexit.register(lambda: f(x * 2).tolist())
        """,
    "in __del__": """
        class Holder:
            def __init__(self, x):
                self.x = x

            def __del__(self, f=f, np=np):
                assert np.asarray(self.x).shape == (1000,)
                self.x.delete()

        holder = Holder(x)
        sys.modules["kept alive to the end"] = Holder(x.copy())
        """,
}


@pytest.mark.parametrize("ending", one_in(2, ENDINGS.values()), ids=ENDINGS)
def test_a_program_ends_in_peace(ending):
    assert run(USE + textwrap.indent(textwrap.dedent(ending), "    ")) == ("", "")


def test_after_an_error_the_error_is_all_that_is_said():
    out, err = run(USE + "    raise KeyError('the last words')\n", ends_with=1)
    assert out == ""
    assert err.startswith("Traceback")
    assert err.endswith("KeyError: 'the last words'\n")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


FORK = """
    import os, warnings
    warnings.simplefilter("ignore")  # Python and JAX warn of every fork beside threads

    def in_child(work):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = work() or 0
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@needs_fork
def test_fork_after_the_import_works():
    run(
        FORK
        + "    import glassjax\n    def work():"
        + textwrap.indent(USE, "    ")
        + """
        assert float(y) == float(f(x))

    assert in_child(work) == 0
    work()  # the parent, too
    """
    )


@needs_fork
def test_a_fork_after_the_first_use_is_an_error_that_tells_the_remedy():
    run(
        USE
        + FORK
        + """
    def work():
        assert np.asarray(x).shape == view.shape  # what is on the host can be read
        for compute in (lambda: jit(lambda x: x * 3.0)(x), lambda: jnp.ones((7, 7))):
            try:
                compute()
            except RuntimeError as error:
                assert "`spawn`" in str(error), error
            else:
                return 2

    assert in_child(work) == 0
    assert float(f(x)) == float(y)
    """
    )


@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=needs_fork)])
def test_multiprocessing(method, tmp_path):
    """Arrays travel between processes by pickle. A forked pool must start before the first use."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import multiprocessing, sys, warnings
        import glassjax.numpy as jnp
        from glassjax import grad, jit

        def work(x):
            return jit(grad(lambda x: jnp.sum(x * x)))(x)

        if __name__ == "__main__":
            warnings.simplefilter("ignore")
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                results = pool.map(work, [1.0, 2.0, 3.0])
                pool.close()
                pool.join()
            print([float(x) for x in results], {type(x).__name__ for x in results})
        """)
    )
    done = subprocess.run(
        [sys.executable, str(program), method], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("[2.0, 4.0, 6.0] {'Array'}\n", "")


ASYNCHRONOUS = """
    assert config.cpu_enable_async_dispatch
    try:
        config.update("jax_cpu_enable_async_dispatch", False)
    except RuntimeError as error:
        assert "computing has begun, with asynchronous=True; choose before" in str(error)
    else:
        raise SystemExit("too late, and no error")
    big = jit(lambda x: x @ x)(jnp.ones((500, 500)))
    assert big.block_until_ready() is big and big.is_ready()
    big.delete()
    assert vmap(f)(jnp.ones((4, 10))).tolist() == [float(f(jnp.ones(10)))] * 4
"""


def test_the_asynchronous_client_is_chosen_by_a_setting():
    by_update = """
    from glassjax import config
    try:
        with config.override(cpu_enable_async_dispatch=True):
            raise SystemExit("no error")
    except RuntimeError as error:
        assert "holds for the whole process" in str(error)  # and not for a block
    config.update("cpu_enable_async_dispatch", True)
    """
    assert run(by_update + USE + ASYNCHRONOUS) == ("", "")
    by_environment = """
    import os
    os.environ["GLASSJAX_CPU_ENABLE_ASYNC_DISPATCH"] = "true"
    from glassjax import config
    """
    assert run(by_environment + USE + ASYNCHRONOUS) == ("", "")


# Programs that ended the process, or would not end.
LOOPS_THAT_CARRY_NO_ELEMENTS = """
    # Loops whose condition called a function ended the process: "builder_ != nullptr".
    import glassjax, glassjax.numpy as jnp
    from glassjax import jit, lax, vmap

    def down(x):
        return lax.while_loop(lambda c: (c > 0).any(), lambda c: c - 1, x)

    def calling(x):
        return lax.while_loop(jit(lambda c: (c > 0).any()), jit(lambda c: c - 1), x)

    def nested(x):
        return lax.while_loop(lambda c: (down(c) > 0).any(), lambda c: calling(c) - 1, x)

    def pair(x):
        return lax.while_loop(lambda c: (c[0] > c[1]).any(), lambda c: (c[1], c[0]), (x, x))[0]

    def mapped(x):
        return lax.map(down, x)

    def scanned(x):
        return lax.scan(lambda c, y: (down(c), y), x[0], x)[1]

    def counted(x):
        return lax.fori_loop(0, 3, lambda i, c: down(c), x)

    def chosen(x):
        return lax.cond((down(x) > 0).any(), down, calling, x)

    def divisors(x):
        return jnp.gcd(x.astype(int), 3).astype(float)

    empty = jnp.zeros((2, 0))
    for f in (down, calling, nested, pair, mapped, scanned, counted, chosen, divisors):
        outs = [f(empty), jit(f)(empty), vmap(f)(jnp.zeros((3, 2, 0)))[0], vmap(f)(empty.T)]
        assert [out.shape for out in outs] == [(2, 0)] * 3 + [(0, 2)], f
        assert glassjax.jvp(f, (empty,), (empty,))[1].shape == (2, 0)
    print("loops")
"""


CONDITIONS_THAT_CALL_PYTHON = """
    # They end a loop over nothing, too.
    import numpy as np
    from glassjax.experimental import io_callback

    for carry in ((), jnp.zeros(0), jnp.float32(1)):
        answers = [True, True, False]
        goes_on = lambda: np.bool_(answers.pop(0))
        ask = lambda c: io_callback(goes_on, jnp.bool_(0))
        jit(lambda c: lax.while_loop(ask, lambda c: c, c))(carry)
        print(answers)
"""


THE_FIRST_TO_CALL_LAPACK = """
    # The way to compile a program with callbacks did not make LAPACK known to XLA.
    from glassjax import debug

    @jit
    def inverse(a):
        debug.print("trace {}", jnp.trace(a))
        return jnp.linalg.inv(a)

    print(inverse(2 * jnp.eye(1)))
"""


def test_programs_that_ended_the_process():
    programs = (
        LOOPS_THAT_CARRY_NO_ELEMENTS, CONDITIONS_THAT_CALL_PYTHON, THE_FIRST_TO_CALL_LAPACK,
    )  # fmt: skip
    printed, _ = run("".join(programs))
    assert printed == "loops\n[]\n[]\n[]\ntrace 2.0\n[[0.5]]\n"

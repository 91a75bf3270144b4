"""What can be run here. New? Begin with `demo`; then `docs -- serve` opens the tutorial.

To begin     demo, docs, study, examples
Tests        tests runs tests-stage1 to tests-processes; nightly is longer, and ends with compat,
             suites and the ends of what is supported: minimums, minimums-devices, newest;
             tests-browser looks at the site that docs has built; gpu-check tries a GPU
Sources      lint, format, types, lines
Speed        bench; instructions fails if a count has grown
Compatible   compat runs libraries written for JAX on glassjax; compat-on-jax on JAX;
             suites runs their own tests; array-api the standard's
Searches     fuzz, result-types, ulps, bad-input, soak: for defects that no test covers;
             mutants: are broken rules found by the tests?
Publishing   build; wheels installs what it has built, on each Python that is there

A session makes its environment once, and then runs without a network; `--reuse-venv=no` makes it
anew, with the newest versions of what it needs.
"""

# STAGES describes the packages once, in order; the sessions are made from it. Versions stand in
# pyproject.toml (`[dependency-groups]`) and in packages/*/pyproject.toml.

import datetime
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nox
from packaging.requirements import Requirement
from packaging.version import Version

nox.needs_version = ">=2026.4"
nox.options.default_venv_backend = "uv|virtualenv"  # the first that is there
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests", "docs"]

# What is run here leaves its user's compile cache alone. Tests keep programs in one of their own,
# so that they take half of the time when they run again.
os.environ["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
KEPT_PROGRAMS = Path(".programs").absolute()
KEEPING_PROGRAMS = {
    "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
    "GLASSJAX_COMPILATION_CACHE_DIR": str(KEPT_PROGRAMS / "glassjax"),
    "JAX_COMPILATION_CACHE_DIR": str(KEPT_PROGRAMS / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
# Tests start hundreds of processes, which would compile all of JAX anew without bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(".nox/bytecode").absolute()))

PYPROJECT = nox.project.load_toml("pyproject.toml")
REPOSITORY = Path(__file__).parent
PACKAGES = Path("packages")
ENVIRONMENT_TEST = str(REPOSITORY / "packages/test_environment.py")


@dataclass(frozen=True)
class Stage:
    name: str  # its directory in packages/, and the end of its sessions' names
    dist: str
    adds: tuple[str, ...]  # further distributions that it brings, directly or not
    smoke: str  # an expression that is true where the stage works, of its module `m`
    module: str = ""  # where it is not named as the distribution

    @property
    def import_name(self) -> str:
        return self.module or self.file_name

    @property
    def file_name(self) -> str:
        """The beginning of the names of its wheel and sdist."""
        return self.dist.replace("-", "_")


STAGES = (
    Stage("stage1", "glassjax-stage1", (), "m.derivative(lambda x: m.mul(x, x), 3.0) == 6.0"),
    Stage("stage2", "glassjax-stage2", ("numpy",), "m.jvp(m.sin, (0.0,), (1.0,)) == (0.0, 1.0)"),
    Stage(
        "stage3",
        "glassjax-stage3",
        ("jaxlib", "ml-dtypes", "scipy"),
        "m.jit(lambda x: -x)(2.0) == -2.0",
    ),
    Stage("stage4", "glassjax-stage4", (), "m.grad(lambda x: x * x)(3.0) == 6.0"),
    Stage("watch", "glassjax-watch", (), "str(m.Recording(1)) == 'no steps'"),
    Stage("glassjax", "glassjax", (), "m.jit(m.grad(lambda x: x * x))(3.0) == 6.0"),
)
WATCH, LIBRARY = STAGES[-2:]

# Two distributions on top of the library, which need not be there.
COMPILED = Stage(
    "compiled",
    "glassjax-compiled",
    (),
    "'calls: used' in m.print_environment_info(True)",
    "glassjax",
)
AS_JAX = Stage(
    "glassjax-as-jax", "glassjax-as-jax", ("jax", "opt-einsum"), "m.__name__ == 'glassjax'", "jax"
)
DISTRIBUTIONS = (*STAGES, COMPILED, AS_JAX)


def up_to(stage: Stage) -> tuple[Stage, ...]:
    below = STAGES[: DISTRIBUTIONS.index(stage)]
    return (*below, stage)


def brought_by(stage: Stage) -> tuple[Stage, ...]:
    """Distributions that pip installs if it is told this one's name: those that it needs."""
    return (STAGES[0], WATCH) if stage is WATCH else up_to(stage)


def expected_distributions(stages: Sequence[Stage]) -> dict[str, str]:
    """The environment variable that ENVIRONMENT_TEST reads."""
    names = [name for each in stages for name in (each.dist, *each.adds)]
    return {"EXPECTED_DISTRIBUTIONS": " ".join(names)}


def group(*names: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PYPROJECT, *names)


# Any of these says that there may be a GPU of NVIDIA.
DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu")


def is_on_gpu(session: nox.Session) -> bool:
    """Return True for `--device gpu`; where there is none, nothing need be installed."""
    if "--device gpu" not in " ".join(session.posargs).replace("=", " "):
        return False
    if not any(map(os.path.exists, DEVICE_FILES)):
        session.error(f"--device gpu: no GPU of NVIDIA is here: none of {', '.join(DEVICE_FILES)}")
    return True


def install(session: nox.Session, stage: Stage, *requirements: str) -> None:
    """Installs a stage from this checkout, editable, with the stages below it.

    The library's calls are compiled where that is possible. With `--device gpu` after `--`, it
    brings what computes there.
    """
    extra = "[cuda13]" if is_on_gpu(session) else ""
    names = [each.name + (extra if each is LIBRARY else "") for each in up_to(stage)]
    compiled = ["packages/compiled"] if stage is LIBRARY and can_compile() else []
    editable = [a for name in names for a in ("-e", f"packages/{name}")]
    install_once(session, *editable, *compiled, *requirements)


def can_compile() -> bool:
    has_compiler = any(map(shutil.which, ("cc", "gcc", "clang", "cl")))
    return has_compiler and Path(sysconfig.get_path("include"), "Python.h").exists()


def install_once(session: nox.Session, *arguments: str) -> None:
    """Installs what is not in the session's environment yet; if it is, no network is needed."""
    parts = ("*/pyproject.toml", "**/hatch_*.py", "*/src/**/*.pyx")
    made_of = [Path("VERSION"), *(path for part in parts for path in sorted(PACKAGES.glob(part)))]
    text = "\n".join([*arguments, *(path.read_text(encoding="utf-8") for path in made_of)])
    wanted = hashlib.sha256(text.encode()).hexdigest()
    noted = Path(session.virtualenv.location) / f"installed-{wanted}"
    if noted.exists():
        return
    require_network(session)
    session.install(*arguments)
    noted.touch()


@functools.cache
def index_answers() -> bool:
    """Whether pip reaches the package index, or whatever its configuration names in its place."""
    options = "--dry-run --quiet --quiet --no-deps --ignore-installed --no-cache-dir --retries=0"
    command = [sys.executable, "-m", "pip", "install", *options.split(), "--timeout=4", "hatchling"]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.returncode == 0 or "No module named pip" in found.stderr


def require_network(session: nox.Session) -> None:
    if not index_answers():
        session.error(
            "no network: pip does not reach its package index, from which this session takes what "
            "it needs the first time that it runs. Sessions that ran before run without."
        )


def skip_below_python_312(session: nox.Session, reason: str) -> None:
    if sys.version_info < (3, 12):
        session.skip(f"Python 3.12 or newer is needed: {reason}")


OF_THE_SITE = "the site shows programs on several devices, which no older jaxlib runs"


NO_TEST_WAS_SELECTED = 5  # pytest's exit code


def is_below(argument: str, folders: Sequence[str]) -> bool:
    path = Path(argument.partition("::")[0]).resolve()
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)


def arguments_for(
    session: nox.Session, paths: Sequence[str], others: Sequence[str] = ()
) -> list[str]:
    """The arguments after `--`, with those of the paths among them that a session tests.

    If there are paths, and none is below its own, or all are below others, the session is skipped.
    """
    arguments = session.posargs
    chosen = [a for a in arguments if "/" in a and Path(a.partition("::")[0]).exists()]
    own = [path for path in chosen if is_below(path, paths) and not is_below(path, others)]
    if chosen and not own:
        session.skip("it has none of these tests")
    return [*(own or paths), *(each for each in arguments if each not in chosen)]


def pytest(session: nox.Session, *arguments: str) -> None:
    """Runs pytest; if arguments after `--` select tests, a session need not have any of them."""
    selected = any(arg.startswith(("-k", "-m", "--changed", "--last")) for arg in session.posargs)
    session.run(
        *("pytest", *arguments),
        env={**KEEPING_PROGRAMS, **session.env, "TESTS_SESSION": session.name},
        success_codes=[0, NO_TEST_WAS_SELECTED] if selected else [0],
    )


# To begin


@nox.session
def demo(session: nox.Session) -> None:
    """Trains a small network on handwritten digits; `-- --help` lists its options."""
    install(session, LIBRARY, *group("demo"))
    session.run("python", "examples/digits.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Builds the site, running its examples; `-- serve` shows it while you write."""
    skip_below_python_312(session, OF_THE_SITE)
    npm = () if shutil.which("npm") else group("npm")
    install(session, LIBRARY, *group("docs"), *npm)
    args = session.posargs or ("build", "--strict")
    session.run("mkdocs", *args, env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def study(session: nox.Session) -> None:
    """Leaves functions of a stage for you to write, and says how far you are; `-- stage1`."""
    task, *options = session.posargs or ["status"]
    stages = {each.name: each for each in up_to(WATCH)[:-1]}
    install(session, stages.get(task, [*stages.values()][-1]), *group("test"))
    session.run("python", "-m", "study", task, *options)


EXAMPLES = (
    "convolution", "transformer", "sharded_transformer", "gaussian_process", "predators",
    "blur", "intervals", "taylor", "layouts", "membrane", "memory", "unrolled",
)  # fmt: skip


@nox.session
def examples(session: nox.Session) -> None:
    """Runs the longer examples; `-- transformer` runs one, `-- --quick` takes seconds for each."""
    install(session, LIBRARY, *group("demo"))
    chosen = [name for name in session.posargs if name in EXAMPLES]
    options = [arg for arg in session.posargs if arg not in EXAMPLES]
    for name in chosen or EXAMPLES:
        session.run("python", f"examples/{name}.py", *options)


# Tests

ON_ALL_CORES = ("--numprocesses=auto", "--dist=worksteal")
TWO_AT_ONCE = ("--numprocesses=2", "--dist=worksteal")  # where most tests wait
BY_DAY = ("-m", "not nightly")  # what `nightly` adds is too long for every change


def run_tests_of(session: nox.Session, stage: Stage, *others: str) -> None:
    # Tests of a stage take less time than a second worker takes to collect them.
    options = (*ON_ALL_CORES, *BY_DAY) if stage is LIBRARY else ()
    pytest(session, *options, *others, *arguments_for(session, [f"packages/{stage.name}/tests"]))


def tests_of(stage: Stage) -> str:
    name = f"tests-{stage.name}"

    def run(session: nox.Session) -> None:
        arguments_for(session, [f"packages/{stage.name}/tests"])
        install(session, stage, *group("long-test" if stage is LIBRARY else "test"))
        session.env.update(expected_distributions(up_to(stage)))
        run_tests_of(session, stage, ENVIRONMENT_TEST)
        if stage is WATCH:
            test_watch_beside_stage_1(session)

    run.__doc__ = f"Tests {stage.dist}, in an environment that has only what it needs."
    nox.session(name=name)(run)
    return name


def test_watch_beside_stage_1(session: nox.Session) -> None:
    """Watches stage 1 where no other stage can be imported."""
    (site_packages,) = Path(session.virtualenv.location).glob("[Ll]ib/**/site-packages")
    sources = [PACKAGES / name / "src" for name in ("stage1", "watch")]
    paths = os.pathsep.join(str(path.absolute()) for path in (*sources, site_packages))
    # Without `site`, which `-S` leaves out, what is installed to be edited is not found.
    options = "-S", "-m", "pytest", "-q", "--noconftest", "--import-mode=importlib"
    test = "packages/watch/tests/test_stage1.py"
    session.run("python", *options, test, env={"PYTHONPATH": paths})


*STAGES_TESTS, LIBRARY_TESTS = [tests_of(stage) for stage in STAGES]


@nox.session(name="tests-calls")
def tests_calls(session: nox.Session) -> None:
    """Tests calls by Python alone, and compiled ones on eight devices."""
    names = (
        "runtime/test_calls", "runtime/test_array", "runtime/test_jit", "runtime/test_notices",
        "settings/test_config", "explaining/test_recorder", "errors/test_tracebacks",
    )  # fmt: skip
    tests = [f"packages/glassjax/tests/{name}.py" for name in names]
    arguments = arguments_for(session, tests)
    install(session, LIBRARY, *group("long-test"))
    # Eight devices not by our setting, whose default value the tests of settings try.
    session.env.update({"GLASSJAX_COMPILED": "0", "XLA_FLAGS": EIGHT_DEVICES["XLA_FLAGS"]})
    pytest(session, *ON_ALL_CORES, *BY_DAY, *arguments)
    if not can_compile():
        session.warn("no C compiler, or no Python.h, is here: compiled calls are not tested")
        return
    session.env["GLASSJAX_COMPILED"] = "required"
    pytest(session, *BY_DAY, *arguments_for(session, tests[:1]))


DEVICES, PROCESSES = "tests/devices", "tests/processes"  # which have sessions of their own
WITHOUT_PROCESSES = f"--ignore={PROCESSES}"


@nox.session(name="tests-against-jax")
def tests_against_jax(session: nox.Session) -> None:
    """Tests what crosses packages, with real JAX as the oracle."""
    arguments = arguments_for(session, ["tests"], others=[DEVICES, PROCESSES])
    install(session, LIBRARY, *group("against-jax"))
    pytest(session, *ON_ALL_CORES, *BY_DAY, WITHOUT_PROCESSES, *arguments)


EIGHT_DEVICES = {
    "GLASSJAX_NUM_CPU_DEVICES": "8",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",  # JAX's
}


@nox.session(name="tests-devices")
def tests_devices(session: nox.Session) -> None:
    """Tests programs on eight virtual devices, with real JAX as the oracle."""
    arguments = arguments_for(session, [DEVICES])
    install(session, LIBRARY, *group("against-jax"))
    session.env.update(EIGHT_DEVICES)
    pytest(session, *ON_ALL_CORES, *BY_DAY, *arguments)


@nox.session(name="tests-processes")
def tests_processes(session: nox.Session) -> None:
    """Tests programs in several processes, and what happens when some of them fail."""
    arguments = arguments_for(session, [PROCESSES])
    install(session, LIBRARY, *group("against-jax"))
    pytest(session, *TWO_AT_ONCE, *BY_DAY, *arguments)


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@nox.session(name="tests-browser")
def tests_browser(session: nox.Session) -> None:
    """Tests the site in a real browser, after `docs` has built it."""
    skip_below_python_312(session, OF_THE_SITE)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        session.error(f"no {' or '.join(BROWSERS)} is here; on Debian: apt-get install chromium")
    install_once(session, *group("browser"))
    session.env["GLASSJAX_BROWSER"] = browser
    pytest(session, *TWO_AT_ONCE, *arguments_for(session, ["docs/tests"]))


@nox.session(name="tests-gpu-compiler")
def tests_gpu_compiler(session: nox.Session) -> None:
    """Compiles programs for GPUs, of which none need be there, nor a driver."""
    # The plugin without NVIDIA's libraries, which only run programs.
    install(session, LIBRARY, *group("against-jax"))
    install_once(session, "--no-deps", "jax-cuda13-pjrt", "jax-cuda13-plugin")
    files = ("packages/glassjax/tests/runtime/test_topologies.py", "tests/runtime/test_plugin.py")
    pytest(session, "--numprocesses=auto", *arguments_for(session, files))


def install_as_jax(session: nox.Session) -> None:
    """Install the library as JAX. What requires JAX comes later: it finds that requirement met."""
    install(session, LIBRARY, "packages/glassjax-as-jax")


@nox.session
def compat(session: nox.Session) -> None:
    """Runs libraries written for JAX without it; `-- --quick` some, `-- optax` one of them."""
    skip_below_python_312(session, "flax and others are run in releases for these")
    install_as_jax(session)
    install_once(session, *group("compat-quick" if "--quick" in session.posargs else "compat"))
    session.run("python", "-W", "ignore", "-m", "compat", *session.posargs)


@nox.session(name="compat-on-jax")
def compat_on_jax(session: nox.Session) -> None:
    """Runs them on JAX itself, and keeps the results that `compat` compares with."""
    install_once(session, *group("compat"), "jax>=0.12")
    session.run("python", "-W", "ignore", "-m", "compat", *session.posargs)


@nox.session
def suites(session: nox.Session) -> None:
    """Runs the test suites of libraries written for JAX; `-- equinox` runs one of them."""
    skip_below_python_312(session, "flax and others are run in releases for these")
    install_as_jax(session)
    install_once(session, *group("compat", "suites"))
    sources = session.cache_dir / "suites"
    if not sources.exists():
        require_network(session)
    session.run("python", "-W", "ignore", "-m", "compat.suites", str(sources), *session.posargs)


# The conformance suite of the Python array API, at a commit, since it has no releases.
ARRAY_API_TESTS = "https://github.com/data-apis/array-api-tests"
ARRAY_API_COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"


@nox.session(name="array-api")
def array_api(session: nox.Session) -> None:
    """Runs the array API's conformance suite; `-- --max-examples 100` tries more of each test."""
    install(session, LIBRARY, *group("array-api"))
    suite = session.cache_dir / f"array-api-tests-{ARRAY_API_COMMIT}"
    if not suite.exists():
        require_network(session)
        git = functools.partial(session.run, "git", external=True)
        with tempfile.TemporaryDirectory(dir=session.cache_dir) as folder:
            git("clone", "--quiet", ARRAY_API_TESTS, folder)
            git("-C", folder, "checkout", "--quiet", ARRAY_API_COMMIT)
            git("-C", folder, "submodule", "--quiet", "update", "--init", "--depth=1")
            shutil.copytree(folder, suite)
    session.env.update(GLASSJAX_ENABLE_X64="true", ARRAY_API_TESTS_MODULE="glassjax.numpy")
    failing = f"--xfails-file={Path('compat', 'array_api.txt').absolute()}"
    session.chdir(suite)
    options = "--max-examples=5", "--derandomize", "--disable-deadline", failing
    session.run("python", "-m", "pytest", "-q", *options, "array_api_tests", *session.posargs)


def today() -> str:
    """The seed of the day: what is drawn at night differs from night to night."""
    return datetime.date.today().strftime("%Y%m%d")


# By day, laws are tried on programs that compile faster, and so are JAX's.
AS_OPTIMIZED_AS_FOR_USERS = {
    "GLASSJAX_DISABLE_MOST_OPTIMIZATIONS": "false",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "false",
}


@nox.session
def nightly(session: nox.Session) -> None:
    """Runs all tests, with what other sessions leave out; longer searches; compat and suites."""
    install(session, LIBRARY, *group("against-jax"))
    session.env.update(AS_OPTIMIZED_AS_FOR_USERS)
    pytest(session, *ON_ALL_CORES, "packages/glassjax/tests", *session.posargs)
    pytest(session, *ON_ALL_CORES, WITHOUT_PROCESSES, "tests", *session.posargs)
    session.run("python", "-m", "fuzzing.fuzz", "--seconds", "1200", "--seed", today())
    session.run("python", "-m", "fuzzing.result_types", "--seed", today())
    session.run("python", "-m", "fuzzing.ulps", "--count", "1000", "--seed", today(), "--bad")
    session.run("python", "-m", "fuzzing.mutants", "--seed", today())
    pytest(session, *TWO_AT_ONCE, PROCESSES, *session.posargs)
    session.env.update(EIGHT_DEVICES)
    pytest(session, *ON_ALL_CORES, DEVICES, *session.posargs)
    for each in "compat", "suites", "array-api", "minimums", "minimums-devices", "newest":
        session.notify(each, [])


# Two rows of sessions. While processes wait, and while a session makes its environment, the other
# row computes. The longest session is the last: it keeps all cores busy when the other row ends.
ROW = ["tests-processes", "tests-devices", "tests-against-jax"]
ROW_BESIDE = [LIBRARY_TESTS, *STAGES_TESTS, "tests-calls"]


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Runs all of the tests above, in two rows at a time; `-- --device gpu` on a GPU."""

    def row(names: Sequence[str]) -> list[str]:
        options = "--noxfile", __file__, "--sessions", *names
        return [sys.executable, "-P", "-m", "nox", *options, "--", *session.posargs]

    session.log(f"beside the others, shown at the end: {', '.join(ROW_BESIDE)}")
    with tempfile.TemporaryFile("w+") as shown:
        beside = subprocess.Popen(row(ROW_BESIDE), stdout=shown, stderr=subprocess.STDOUT)
        try:
            codes = [subprocess.run(row(ROW), check=False).returncode, beside.wait()]
        finally:
            beside.terminate()
        shown.seek(0)
        print(shown.read())
    if any(codes):
        session.error("there are failures above")


@nox.session(python="3.11", reuse_venv=False)
def minimums(session: nox.Session) -> None:
    """Tests every package on the oldest Python, with the lowest numpy and jaxlib it declares."""
    install(session, LIBRARY, *group("long-test"), *lowest_versions())
    # XLA of jaxlib 0.10 logs errors while it loads a program, on processors with slow gathers.
    session.env["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
    for stage in STAGES:
        run_tests_of(session, stage)


SEVERAL_DEVICES = "0.11.2"  # the lowest jaxlib that reads arrays on several devices


@nox.session(name="minimums-devices", python="3.12", reuse_venv=False)
def minimums_devices(session: nox.Session) -> None:
    """Tests programs on eight CPU devices with the lowest jaxlib that runs them, beside its JAX."""
    versions = f"jaxlib=={SEVERAL_DEVICES}", f"jax=={SEVERAL_DEVICES}"
    install(session, LIBRARY, *group("against-jax"), *versions)
    session.env.update(EIGHT_DEVICES)
    pytest(session, *ON_ALL_CORES, *BY_DAY, DEVICES, *session.posargs)


@nox.session(python="3.14", reuse_venv=False)
def newest(session: nox.Session) -> None:
    """Tests every package on the newest Python, with the newest numpy and jaxlib."""
    install(session, LIBRARY, *group("long-test"))
    for stage in STAGES:
        run_tests_of(session, stage)


def lowest_versions() -> list[str]:
    lowest = []
    for stage in STAGES:
        pyproject = nox.project.load_toml(f"packages/{stage.name}/pyproject.toml")
        hook = pyproject["tool"]["hatch"]["metadata"]["hooks"]["custom"]
        for text in hook.get("dependencies", []):
            requirement = Requirement(text.format(version="0"))
            lowest += [
                f"{requirement.name}=={each.version}"
                for each in requirement.specifier
                if each.operator == ">="
            ]
    return lowest


# The sources


@nox.session
def lint(session: nox.Session) -> None:
    """Checks the sources with ruff, the layers of their imports, and twins; and the workflows."""
    install_once(session, *group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    sources = os.pathsep.join(str(path) for path in sorted(Path("packages").glob("*/src")))
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": sources})
    session.run("python", "-m", "tools.twins", "--check")
    session.run("zizmor", "--offline", "--quiet", ".github")
    if shutil.which("actionlint"):  # no wheel has it: CI installs it, and so may you
        session.run("actionlint", external=True)


@nox.session(name="format")
def format_(session: nox.Session) -> None:
    """Rewrites the sources the way lint wants them, and the code that the pages show of them."""
    install_once(session, *group("lint"))
    session.run("ruff", "check", "--fix-only")
    session.run("ruff", "format")
    session.run("python", "-m", "tools.excerpts")


@nox.session(venv_backend="none")
def lines(session: nox.Session) -> None:
    """Counts the code lines of packages and rooms; `-- --write` puts them into README.md."""
    session.run(sys.executable, "-m", "benchmarks.lines", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Checks the types with mypy, strictly, and those of users' programs with pyright, too."""
    install(session, LIBRARY, *group("types", "test"))
    try:
        install_once(session, *group("pyright"))
    except nox.command.CommandFailed:
        session.warn("pyright is not to be had here: programs are checked with mypy alone")
    session.run("mypy", *session.posargs)
    session.run("pytest", "-q", "packages/glassjax/tests/house/test_typing.py")


# Speed


@nox.session
def bench(session: nox.Session) -> None:
    """Measures glassjax and JAX side by side."""
    install(session, LIBRARY, *group("bench"))
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def instructions(session: nox.Session) -> None:
    """Compares counts of instructions with those recorded; `-- --write` records them anew."""
    install(session, LIBRARY)
    session.run("python", "-m", "benchmarks.instructions", *session.posargs)


# Searches


@nox.session
def soak(session: nox.Session) -> None:
    """Takes thousands of steps in one process, beside JAX; `-- --quick` takes a hundredth."""
    install(session, LIBRARY, *group("oracle"))
    session.run("python", "-m", "fuzzing.soak", *session.posargs)


@nox.session(name="bad-input")
def bad_input(session: nox.Session) -> None:
    """Tries bad arguments of all public functions; `-- numpy.pad` those of one."""
    install(session, LIBRARY, *group("against-jax"))
    session.run("python", "-m", "fuzzing.bad_input", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Compares random programs with JAX; `-- --seconds 600 --seed 1` says how long, and which."""
    install(session, LIBRARY, *group("oracle"))
    session.run("python", "-m", "fuzzing.fuzz", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Breaks a few rules, others every day, and says which tests find it; `-- --all` breaks all."""
    install(session, LIBRARY, *group("against-jax"))
    session.run("python", "-m", "fuzzing.mutants", *session.posargs)


@nox.session(name="result-types")
def result_types(session: nox.Session) -> None:
    """Compares the types that all functions give of weak and strong arguments with JAX's."""
    install(session, LIBRARY, *group("oracle"))
    session.run("python", "-m", "fuzzing.result_types", *session.posargs)


@nox.session
def ulps(session: nox.Session) -> None:
    """Measures how exact each elementwise function is, and JAX's; `-- --help` lists its options."""
    install(session, LIBRARY, *group("ulps"))
    session.run("python", "-m", "fuzzing.ulps", *session.posargs)


# What is published

PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # those of CLASSIFIERS in packages/hatch_build.py
DIST = Path("dist").absolute()


@nox.session(name="publish-docs")
def publish_docs(session: nox.Session) -> None:
    """Commits the site to the branch gh-pages, beside its other versions; `-- --push` pushes it.

    Its address is GLASSJAX_SITE_URL. A version in development is published as `dev`, a release as
    its number and as `latest`, where the site opens.
    """
    npm = () if shutil.which("npm") else group("npm")
    install(session, LIBRARY, *group("publish"), *npm)
    version = Path("VERSION").read_text(encoding="utf-8").strip()
    names = ("dev",) if Version(version).is_devrelease else (version, "latest")
    env = {"GLASSJAX_STRICT": "true", "NO_MKDOCS_2_WARNING": "1"}
    session.run("mike", "deploy", "--update-aliases", *names, env=env)
    released = ["git", "cat-file", "-e", "gh-pages:latest"]
    is_released = subprocess.run(released, capture_output=True, check=False).returncode == 0
    opened = "latest" if is_released else "dev"
    session.run("mike", "set-default", *session.posargs, opened, env=env)


@nox.session(reuse_venv=False)
def build(session: nox.Session) -> None:
    """Builds every distribution into dist/: an sdist, and a wheel from that sdist.

    GLASSJAX_REPOSITORY_URL and GLASSJAX_SITE_URL are what their metadata links to. The wheel of
    compiled calls is for this Python and machine; cibuildwheel makes the others from its sdist.
    """
    session.install(*group("build"))
    if not os.environ.get("GLASSJAX_REPOSITORY_URL"):
        session.warn("GLASSJAX_REPOSITORY_URL is not set: nothing links to the repository")
    shutil.rmtree(DIST, ignore_errors=True)
    for each in DISTRIBUTIONS:
        what = ["--sdist"] if each is COMPILED and not can_compile() else []
        options = *what, "--no-isolation", f"--outdir={DIST}"
        session.run("python", "-m", "build", *options, f"packages/{each.name}", silent=True)
    session.run("twine", "check", "--strict", *map(str, files_to_publish()))


def files_to_publish() -> list[Path]:
    return sorted([*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")])


@nox.session(python=PYTHONS, requires=["build"], reuse_venv=False)
def wheels(session: nox.Session) -> None:
    """Installs what `build` has made from an index of its own, and tries it away from the sources.

    Every distribution alone: what it brings, whether it works, `pip check`. Then the library with
    compiled calls: the demo, the tests of the stages, and some of the library's. In the end a table
    of sizes and times.
    """
    rows = ["distribution          wheel KB  site-packages MB  install s"]
    with tempfile.TemporaryDirectory() as temporary, session.chdir(temporary):
        index = package_index(Path("index").absolute())
        for each in DISTRIBUTIONS:
            began = time.monotonic()
            python = new_environment(session, each.name, index, each.dist)
            seconds = time.monotonic() - began
            expected = expected_distributions(brought_by(each))
            session.run(python, ENVIRONMENT_TEST, env=expected, external=True)
            session.run(python, "-c", smoke_test(each), external=True)
            session.run(python, "-m", "pip", "check", external=True)
            wheel = max(DIST.glob(f"{each.file_name}-*.whl"), key=os.path.getmtime, default=None)
            size = wheel.stat().st_size / 1e3 if wheel else 0
            installed = megabytes(Path(each.name))
            rows.append(f"{each.dist:20} {size:9.0f} {installed:17.1f} {seconds:10.1f}")
            shutil.rmtree(each.name)
        began = time.monotonic()
        test_installed(session, index)
        rows.append(f"demo and tests: {time.monotonic() - began:.0f} s")
    session.log("\n".join(["sizes and times:", *rows]))


def package_index(index: Path) -> str:
    """The address of an index of dist/, of which pip reads a page for each distribution."""
    for each in DISTRIBUTIONS:
        page = index / each.dist / "index.html"
        page.parent.mkdir(parents=True)
        with page.open("w") as out:
            for file in files_to_publish():
                if file.name.startswith(f"{each.file_name}-"):
                    digest = hashlib.sha256(file.read_bytes()).hexdigest()
                    print(f'<a href="{file.as_uri()}#sha256={digest}">{file.name}</a>', file=out)
    return index.as_uri()


def new_environment(session: nox.Session, place: str, index: str, *requirements: str) -> str:
    """The Python of a new environment, into which pip has installed requirements."""
    options = "--quiet", "--no-setuptools", "--python"
    of_session = str(Path(session.bin, "python"))
    command = sys.executable, "-m", "virtualenv", *options, of_session, place
    session.run(*command, external=True)
    folder = "Scripts" if os.name == "nt" else "bin"
    python = str(Path(place, folder, "python").absolute())
    pip = "-m", "pip", "install", "-qq"
    session.run(python, *pip, f"--extra-index-url={index}", *requirements, external=True)
    return python


def megabytes(environment: Path) -> float:
    """The size of what was installed, without pip."""
    (site_packages,) = environment.glob("[Ll]ib/**/site-packages")
    files = [path for path in site_packages.rglob("*") if path.is_file() and not path.is_symlink()]
    of_pip = [path for path in files if path.relative_to(site_packages).parts[0].startswith("pip")]
    return sum(path.stat().st_size for path in set(files) - set(of_pip)) / 1e6


def smoke_test(stage: Stage) -> str:
    package = stage.import_name
    return f"""
import sys
from importlib.resources import files
import {package} as m
assert m.__file__.startswith(sys.prefix)
assert files("{package}").joinpath("py.typed").is_file()
assert {stage.smoke}
"""


# Tests need of the repository what lies beside them, but no sources.
BESIDE_TESTS = (
    "conftest.py", "pyproject.toml", "tests/support", "packages/*/README.md", "packages/*/tests",
    "examples",
)  # fmt: skip
# All of the stages; of the library, which has many more, transformations and compiled calls.
OF_WHEELS = (
    "stage1/tests", "stage2/tests", "stage3/tests", "stage4/tests", "watch/tests",
    "glassjax/tests/transforms", "glassjax/tests/runtime/test_calls.py",
)  # fmt: skip


def test_installed(session: nox.Session, index: str) -> None:
    names = [LIBRARY.dist, *([COMPILED.dist] if can_compile() else [])]
    tools = group("demo", "long-test")
    python = new_environment(session, "all", index, *names, *tools)
    for pattern in BESIDE_TESTS:
        for path in REPOSITORY.glob(pattern):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            target = Path(path.relative_to(REPOSITORY))
            target.parent.mkdir(parents=True, exist_ok=True)
            copy(path, target)
    session.run(python, "examples/digits.py", external=True)
    tests = [f"packages/{place}" for place in OF_WHEELS]
    session.run(python, "-m", "pytest", "-q", *ON_ALL_CORES, *BY_DAY, *tests, external=True)

"""Runs the test suites of libraries written for JAX on glassjax, as `suites.toml` lists them.

`python -m compat.suites FOLDER` takes an environment where `import jax` is glassjax. The folder
keeps the sources of the releases installed there; those in it already are not fetched again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

HERE = Path(__file__).parent
SUITES = tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))
ON_GLASSJAX = HERE / "suites_on_glassjax.json"
TEST_FILES = "python_files=test_*.py *_test.py"
SECONDS = 300  # for one test


def fetch(name, release, source, into):
    """Put the tests of a release into a folder that does not exist yet."""
    with TemporaryDirectory() as folder:
        found = Path(folder) / "sources"
        if source == "sdist":
            options = "--no-deps", "--no-binary=:all:", f"--dest={folder}"
            pip = sys.executable, "-m", "pip", "download", "--quiet"
            subprocess.run([*pip, *options, f"{name}=={release}"], check=True)
            (archive,) = Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(found, filter="data")
            (found,) = found.iterdir()
        else:
            git = "git", "clone", "--quiet", "--depth=1", f"--branch=v{release}"
            subprocess.run([*git, source, found], check=True)
        into.mkdir(parents=True)
        for each in SUITES[name]["tests"]:  # without the library, which is installed
            shutil.move(found / each, into / each)


def run(name, folder, options):
    """Run the suite of a library: the release, and how many of its tests passed, and failed."""
    suite, release = SUITES[name], version(name)
    if suite["source"] == "wheel":
        where = Path(__import__(name).__file__).parent.parent
    else:
        where = folder.resolve() / f"{name}-{release}"
        if not where.exists():
            fetch(name, release, suite["source"], where)
    left_out = suite.get("left_out", {})
    with TemporaryDirectory() as reports:
        report = Path(reports) / "report.xml"
        empty = Path(reports) / "pytest.ini"
        empty.write_text("[pytest]\n")
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-rfE", f"--config-file={empty}"]
        command += [
            f"--rootdir={where}",
            f"--confcutdir={where}",
            "-p",
            "no:cacheprovider",
            "-o",
            TEST_FILES,
        ]
        command += [f"--timeout={SECONDS}", f"--junit-xml={report}"]
        command += [str(where / each) for each in suite["tests"]]
        command += [_left_out(test, where) for test in left_out]
        command += [*suite.get("options", []), *options]
        subprocess.run(command, cwd=where / suite["tests"][0], check=False)
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        if report.exists():
            counts = ElementTree.parse(report).getroot()[0].attrib
        tests, failures, errors, skipped = (
            int(counts[each]) for each in ("tests", "failures", "errors", "skipped")
        )
    failed = failures + errors
    return {"release": release, "passed": tests - failed - skipped, "failed": failed}


def _left_out(test, where):
    """The argument of pytest that leaves out a test, or a whole file, which may not import."""
    return f"--ignore={where / test}" if test.endswith(".py") else f"--deselect={test}"


def main():
    parser = argparse.ArgumentParser(prog="python -m compat.suites", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources are kept")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--write", action="store_true", help="keep results for the page in docs/")
    arguments, options = parser.parse_known_intermixed_args()
    unknown = set(arguments.names) - set(SUITES)
    if unknown:
        parser.error(f"there is no suite {', '.join(sorted(unknown))}")

    import jax

    if jax.__name__ != "glassjax":
        sys.exit(f"jax is JAX here, from {os.path.dirname(jax.__file__)}: install glassjax-as-jax")
    names = arguments.names or list(SUITES)
    kept = json.loads(ON_GLASSJAX.read_text()) if ON_GLASSJAX.exists() else {}
    for name in names:
        kept[name] = run(name, arguments.folder, options)
        if arguments.write:
            ON_GLASSJAX.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(f"{'library':10} {'release':9} passed failed left out")
    for name in names:
        release, passed, failed = (kept[name][each] for each in ("release", "passed", "failed"))
        left_out = len(SUITES[name].get("left_out", {}))
        print(f"{name:10} {release:9} {passed:6} {failed:6} {left_out:8}")
    bad = [name for name in names if kept[name]["failed"] or not kept[name]["passed"]]
    if bad:
        sys.exit(f"{len(bad)} of {len(names)} suites do not pass: {', '.join(bad)}")


if __name__ == "__main__":
    main()

"""Build hook: a second distribution in the wheel, `jax`, as which installers know its module.

A wheel has one name, and an index has JAX under the name `jax`. What is installed may have more:
files below `.data/purelib` go to site-packages, where a directory `jax-VERSION.dist-info` is an
installed distribution. It satisfies what other libraries require, and an installer that is asked
for JAX itself finds what to remove first.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JAX = "0.12.0.1+glassjax"  # the version of JAX whose interface it is

METADATA = """\
Metadata-Version: 2.1
Name: jax
Version: {jax}
Summary: {description}
Requires-Dist: {name}=={version}
"""
WHEEL = """\
Wheel-Version: 1.0
Root-Is-Purelib: true
Tag: py3-none-any
"""
RECORD = """\
jax/__init__.py,,
{directory}/METADATA,,
{directory}/WHEEL,,
{directory}/RECORD,,
"""


class SecondDistribution(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        project = self.metadata.core
        directory = f"jax-{JAX}.dist-info"
        files = {
            "METADATA": METADATA.format(
                jax=JAX,
                description=project.description,
                name=project.name,
                version=self.metadata.version,
            ),
            "WHEEL": WHEEL,
            "RECORD": RECORD.format(directory=directory),
        }
        self.written = TemporaryDirectory()
        data = f"{self.build_config.builder.artifact_project_id}.data/purelib"
        for name, text in files.items():
            path = Path(self.written.name, name)
            path.write_text(text, encoding="utf-8")
            build_data["force_include"][str(path)] = f"{data}/{directory}/{name}"

"""Metadata hook shared by the five packages: one version, and siblings pinned to it.

The version stands in the file `VERSION` at the root of the repository and nowhere else.
A package lists its dependencies under `[tool.hatch.metadata.hooks.custom]`, where
`{version}` stands for that version.

An sdist has left the repository: its PKG-INFO already says what this hook computes, and
`hatch_sdist.toml`, which travels in it as `hatch.toml`, turns the hook off.
"""

from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

VERSION = Path(__file__).parents[1] / "VERSION"


class OneVersion(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        version = VERSION.read_text(encoding="utf-8").strip()
        metadata["version"] = version
        if "dependencies" in self.config:
            metadata["dependencies"] = [
                requirement.format(version=version) for requirement in self.config["dependencies"]
            ]

# SPDX-License-Identifier: Apache-2.0
"""The files of configs/, which an installed package carries with it."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def config_path(name: str | Path) -> Path:
    """A path as given, or the name of a file of configs/; FileNotFoundError lists these."""
    folders = [_PACKAGE.parent / "configs", _PACKAGE / "_configs"]
    places = [Path(name), *(folder / name for folder in folders)]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        names = sorted({file.name for folder in folders for file in folder.glob("*.yaml")})
        raise FileNotFoundError(
            f"{name} is neither a file nor one of the configurations {', '.join(names)}"
        )
    return found

# SPDX-License-Identifier: Apache-2.0
"""Files that users write: text, YAML, JSON. A ValueError names the file that cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark; lines end as they do there."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): decompress it, or "
            "convert it, as by `iconv -f GB18030 -t UTF-8`"
        ) from error


def read_yaml(path: str | Path) -> Any:
    """What a YAML file holds; None if it is empty."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, source: str) -> Any:
    """What YAML text holds; `source` is what an error calls it."""
    import yaml  # of an extra

    return _parse(yaml.safe_load, text, (yaml.YAMLError, ValueError), f"{source} is no YAML")


def read_json(path: str | Path) -> Any:
    """What a JSON file holds."""
    return _parse(json.loads, read_text(path), (ValueError,), f"{path} is no JSON")


def _parse(parse: Callable[[str], Any], text: str, wrong: tuple, problem: str) -> Any:
    try:
        return parse(text)
    except wrong as error:
        raise ValueError(f"{problem}: {' '.join(str(error).split())}") from None

# SPDX-License-Identifier: Apache-2.0
"""One typed configuration: defaults, then a YAML file, then `--set section.key=value`."""

from __future__ import annotations

import difflib
import re
import typing
from pathlib import Path

import yaml
from pydantic import ValidationError

from ..tools.configs import config_path
from ..tools.replacing import replacing
from ..tools.text_files import parse_yaml, read_yaml
from .settings import Config

SHORT = {"loss": "kind"}  # the key that a section is about: `loss: tdt` is `loss: {kind: tdt}`


def load(path: str | Path | None = None, overrides: typing.Sequence[str] = ()) -> Config:
    """The defaults, then the YAML file, then `section.key=value` overrides in order."""
    tree: dict[str, dict] = {}
    sources: dict[str, str] = {}  # of each section, and of each section.key
    if path is not None:
        found = config_path(path)
        _merge(tree, read_yaml(found) or {}, str(found), sources)
    for text in overrides:
        key, equals, value = text.partition("=")
        section, *names = key.strip().split(".")
        names = names or [SHORT[section]] if section in SHORT else names
        if not equals or len(names) != 1:
            raise ValueError(f"--set wants section.key=value, but got {text!r}")
        source = f"--set {text}"
        _merge(tree, {section: {names[0]: parse_yaml(value, source)}}, source, sources)
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise ValueError(_in_one_line(error, sources)) from None


def save(config: Config, path: str | Path) -> None:
    """Write every value, so that a run can be repeated when defaults have changed."""
    text = yaml.safe_dump(config.model_dump(), allow_unicode=True, sort_keys=False)
    with replacing(Path(path)) as draft:
        draft.write_text(text, encoding="utf-8")


def differences(old: Config, new: Config) -> list[str]:
    """`section.key: old -> new` for every value that has changed."""
    pairs = zip(old.model_dump().items(), new.model_dump().values())
    return [
        f"{section}.{key}: {value!r} -> {changed[key]!r}"
        for (section, values), changed in pairs
        for key, value in values.items()
        if value != changed[key]
    ]


def _merge(tree: dict, new: object, source: str, sources: dict[str, str]) -> None:
    for section, values in _items(new, source):
        if section in SHORT and isinstance(values, str):
            values = {SHORT[section]: values}
        sources[str(section)] = source
        for key, value in _items(values, f"{source}: {section}"):
            tree.setdefault(section, {})[key] = value
            sources[f"{section}.{key}"] = source


def _items(tree: object, source: str) -> typing.Iterable[tuple[str, object]]:
    if not isinstance(tree, dict):
        raise ValueError(f"{source} must be a mapping, but got {type(tree).__name__}")
    return tree.items()


def _in_one_line(error: ValidationError, sources: dict[str, str]) -> str:
    """The first error, with the file or option that the value comes from."""
    first = error.errors()[0]
    if not first["loc"]:  # of the whole: it names its keys
        return str(first["ctx"]["error"])
    section, *names = map(str, first["loc"])
    key = ".".join([section, *names[:1]])
    source = sources.get(key, sources.get(section, "the defaults"))
    if first["type"] == "extra_forbidden":
        return f"{source}: {_unknown(section, names)}"
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        if not names:  # of a whole section: it names its keys
            return f"{source}: {reason}"
    else:
        reason = re.sub(r"^\w+ should\b", "must", first["msg"])
    return f"{source}: {key} {reason}, but got {first['input']!r}"


def _unknown(section: str, names: list[str]) -> str:
    if names:
        known, name, what = type(getattr(Config(), section)), names[0], f"key in '{section}'"
    else:
        known, name, what = Config, section, "section"
    near = difflib.get_close_matches(name, known.model_fields, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(known.model_fields)
    return f"unknown {what}: '{name}'; {hint}"

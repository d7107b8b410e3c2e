"""A YAML file, read into dataclasses; every complaint names the file, the line, the field and what would be right."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")
NULL, TEXT = "tag:yaml.org,2002:null", "tag:yaml.org,2002:str"
BOOLEAN, INTEGER, FLOAT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
CALLED = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", Path: "the path of a file"}

Complaints = Iterator[tuple[str, str]]
"""What a check of settings says: a field, and what is wrong with it. Each method is one whose name begins so."""
CHECK = "check"
UNREAD = object()
"""Stands for a setting that is wrong."""


class Unread(Exception):
    """A check has asked for a setting that is wrong, which has been told: there is nothing to check."""


class ConfigError(Exception):
    """A file that cannot be used as it is: all that is wrong with it, one complaint a line."""

    def __init__(self, complaints: Iterable[str]) -> None:
        self.complaints = list(complaints)
        super().__init__("\n".join(self.complaints))


class Secret:
    """A text that is never shown: it has no other form than what `reveal` gives."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one who sends it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


Row = tuple[str, str, str]
"""Of the reference: the name of a setting, what its value is, and what it means."""
ReadBy = Callable[[object, Path], object]
"""Makes the value of a setting of what the file says, which is relative to a folder. Raises `ValueError`."""


def setting(
    meaning: str,
    default: Any = MISSING,
    *,
    least: float | None = None,
    above: float | None = None,
    read_by: ReadBy | None = None,
    called: str = "",
    within: Sequence[Row] = (),
) -> Any:
    """A field of a settings class: what it means, what it is where nothing is said, and its range if it is a number.

    One that may have several forms is `read_by` a function, and `called` so in the reference, with rows for what may
    be `within` it.
    """
    ranged = {"least": least, "above": above}
    metadata = {"meaning": meaning, "read_by": read_by, "called": called, "within": within} | ranged
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass
class Reader:
    """One reading of one file; complaints are collected, so that one run shows them all."""

    file: str
    folder: Path
    """What relative paths in the file are relative to."""
    environ: Mapping[str, str]
    complaints: list[tuple[int, str]] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)
    """Each that was read."""

    def read(self, text: str, kind: type[T]) -> T:
        """The settings in a text. Raises `ConfigError`."""
        try:
            node = yaml.compose(text, yaml.SafeLoader)
        except RecursionError:
            raise ConfigError([f"{self.file}:1: is nested too deeply; a few levels are enough"]) from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            raise ConfigError([f"{self.file}:{line}: not YAML: {getattr(error, 'problem', error)}"]) from None
        if node is None:
            raise ConfigError([f"{self.file}:1: is empty; name at least one server below `servers:`"])
        read = self._value(node, kind, "")
        if self.complaints:
            raise ConfigError(f"{self.file}:{line}: {said}" for line, said in sorted(self.complaints))
        return read  # type: ignore[no-any-return]

    def complain(self, node: yaml.Node, at: str, said: str) -> None:
        """Something is wrong at a place."""
        self.complaints.append((node.start_mark.line + 1, f"{at}: {said}" if at else said))

    def _value(self, node: yaml.Node, kind: Any, at: str) -> Any:
        if get_origin(kind) in (Union, UnionType):
            if node.tag == NULL:
                return None
            [kind] = [each for each in get_args(kind) if each is not NoneType]
        if dataclasses.is_dataclass(kind):
            return self._settings(node, kind, at)
        if kind is Secret:
            return self._secret(node, at)
        match get_origin(kind):
            case origin if origin is tuple:
                return self._list(node, get_args(kind)[0], at)
            case origin if origin is dict:
                return self._mapping(node, get_args(kind)[1], at)
            case origin if origin is Literal:
                return self._choice(node, get_args(kind), at)
        return self._scalar(node, kind, at)

    def _pairs(self, node: yaml.Node, at: str) -> Iterator[tuple[str, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self.complain(node, at, "is not a mapping; write `name: value` lines, indented")
            return
        seen = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.complain(key, at, "a name is a plain text")
            elif key.value in seen:
                self.complain(key, f"{at}.{key.value}".lstrip("."), "is here twice; keep one of them")
            else:
                seen.add(key.value)
                yield key.value, value

    def _settings(self, node: yaml.Node, kind: Any, at: str) -> Any:
        fields = {each.name: each for each in dataclasses.fields(kind) if "meaning" in each.metadata}
        hints, values, nodes = get_type_hints(kind), dict[str, Any](), dict[str, yaml.Node]()
        told = isinstance(node, yaml.MappingNode)
        for name, value in self._pairs(node, at):
            inside = f"{at}.{name}".lstrip(".")
            if name not in fields:
                self.complain(value, inside, f"is no setting here; {_meant(name, fields)}")
                told = False
                continue
            nodes[name] = value
            read_by = fields[name].metadata["read_by"]
            values[name] = self._read_by(read_by, value, inside) if read_by else self._value(value, hints[name], inside)
            if not self._is_in_range(value, values[name], fields[name], inside):
                values[name] = UNREAD
        for name, each in fields.items():
            needed = each.default is MISSING and each.default_factory is MISSING
            if needed and name not in values:
                values[name] = UNREAD
                if isinstance(node, yaml.MappingNode):
                    self.complain(node, f"{at}.{name}".lstrip("."), f"is missing: {each.metadata['meaning']}")
            if name not in values and not told:  # which of them was meant nobody knows
                values[name] = UNREAD
            if name not in values and isinstance(each.default, Path):
                values[name] = self.folder / each.default
        for name, said in list(_checked(_made(kind, values), kind)):
            values[name] = UNREAD
            self.complain(nodes.get(name, node), f"{at}.{name}".lstrip("."), said)
        return _made(kind, values)

    def _read_by(self, read_by: ReadBy, node: yaml.Node, at: str) -> object:
        try:
            return read_by(yaml.SafeLoader("").construct_document(node), self.folder)
        except (ValueError, yaml.YAMLError) as error:
            self.complain(node, at, str(getattr(error, "problem", None) or error))
            return UNREAD

    def _is_in_range(self, node: yaml.Node, value: Any, each: dataclasses.Field[Any], at: str) -> bool:
        least, above = each.metadata.get("least"), each.metadata.get("above")
        if isinstance(value, dict) and isinstance(node, yaml.MappingNode):
            for key, inner in node.value:
                if isinstance(key, yaml.ScalarNode):
                    self._is_in_range(inner, value.get(key.value), each, f"{at}.{key.value}")
        elif not isinstance(value, int | float) or isinstance(value, bool):
            return True
        elif least is not None and value < least:
            self.complain(node, at, f"is {value:g}; it is at least {least:g}")
            return False
        elif above is not None and not value > above:
            self.complain(node, at, f"is {value:g}; it is above {above:g}")
            return False
        return True

    def _mapping(self, node: yaml.Node, kind: Any, at: str) -> Any:
        """What is wrong in it stands there as `UNREAD`."""
        pairs = list(self._pairs(node, at))
        read = {key: self._value(value, kind, f"{at}.{key}") for key, value in pairs}
        return read if isinstance(node, yaml.MappingNode) else UNREAD

    def _list(self, node: yaml.Node, kind: Any, at: str) -> Any:
        """What is wrong in it stands there as `UNREAD`."""
        if not isinstance(node, yaml.SequenceNode):
            self.complain(node, at, "is not a list; begin each entry with `- `")
            return UNREAD
        return tuple(self._value(each, kind, f"{at}[{index}]") for index, each in enumerate(node.value))

    def _choice(self, node: yaml.Node, choices: tuple[str, ...], at: str) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.value in choices:
            return str(node.value)
        found = node.value if isinstance(node, yaml.ScalarNode) else "a collection"
        self.complain(node, at, f"is {found!r}; {_meant(str(found), choices)}")
        return UNREAD

    def _scalar(self, node: yaml.Node, kind: Any, at: str) -> Any:
        right = {str: (TEXT,), Path: (TEXT,), int: (INTEGER,), float: (INTEGER, FLOAT), bool: (BOOLEAN,)}[kind]
        if not isinstance(node, yaml.ScalarNode) or node.tag not in right:
            found = repr(node.value) if isinstance(node, yaml.ScalarNode) else "a collection"
            quote = f"; write '{node.value}', in quotes" if kind is str and isinstance(node, yaml.ScalarNode) else ""
            self.complain(node, at, f"is {found}, and not {CALLED[kind]}{quote}")
            return UNREAD
        if kind is str:
            return node.value
        if kind is Path:
            return self.folder / node.value
        try:
            value = kind(yaml.safe_load(node.value))
        except (ValueError, OverflowError):
            self.complain(node, at, f"is {node.value[:20]}… and too long for a number")
            return UNREAD
        if kind is float and not math.isfinite(value):
            self.complain(node, at, f"is {node.value}; it is a finite number")
            return UNREAD
        return value

    def _secret(self, node: yaml.Node, at: str) -> Any:
        pairs = dict(self._pairs(node, at)) if isinstance(node, yaml.MappingNode) else {}
        match [(how, where.value) for how, where in pairs.items() if isinstance(where, yaml.ScalarNode)]:
            case [("env", str(name))]:
                text = self.environ.get(name)
                if not text:
                    self.complain(node, at, f"the environment variable {name} is not set, or empty; export it")
            case [("file", str(name))]:
                try:
                    text = (self.folder / name).read_text(encoding="utf-8").strip()
                except (OSError, UnicodeDecodeError):
                    text = ""
                if not text:
                    self.complain(node, at, f"the file {name} cannot be read, or is empty")
            case _:
                self.complain(node, at, "is a secret: write `{env: NAME}` or `{file: path}`, never the secret itself")
                return UNREAD
        if text:
            self.secrets.append(Secret(text))
        return Secret(text) if text else UNREAD


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """The settings; of some that are wrong whoever asks for them gets `Unread`."""
    wrong = {name for name, value in values.items() if value is UNREAD}
    if not wrong:
        return kind(**values)
    right = {name: value for name, value in values.items() if name not in wrong}
    made: Any = object.__new__(type(kind.__name__, (kind,), dict.fromkeys(wrong, property(_unread))))
    for each in dataclasses.fields(kind):
        if each.name not in wrong:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            object.__setattr__(made, each.name, right.get(each.name, default))
    return made


def _unread(_: object) -> None:
    raise Unread


def _checked(made: Any, kind: Any) -> Complaints:
    """What is wrong with settings, as far as it can be told by those that are right."""
    for name in [name for name in vars(kind) if name.startswith(CHECK)]:
        with suppress(Unread):
            yield from getattr(made, name)()


def _meant(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"


def reference(kind: Any) -> list[str]:
    """A table of all settings of a class and those within it, in Markdown."""
    return ["| setting | value | if nothing is said | meaning |", "|---|---|---|---|", *_rows(kind, "")]


def _rows(kind: Any, at: str) -> Iterator[str]:
    for name, hint in get_type_hints(kind).items():
        each = kind.__dataclass_fields__[name]
        if "meaning" not in each.metadata:
            continue
        inner = next((part for part in (hint, *get_args(hint)) if dataclasses.is_dataclass(part)), None)
        one_of_many = inner is not None and get_origin(hint) is tuple
        default = "" if each.default in (MISSING, None) or inner else f"`{_written(each.default)}`"
        yield f"| `{at}{name}` | {each.metadata['called'] or _kind(hint)} | {default} | {each.metadata['meaning']} |"
        for within, called, meaning in each.metadata["within"]:
            yield f"| `{at}{name}.{within}` | {called} |  | {meaning} |"
        if inner is not None:
            yield from _rows(inner, f"{at}{name}{'[]' if one_of_many else ''}.")


def _written(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else text or '""'


def _kind(hint: Any) -> str:
    parts = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) in (Union, UnionType):
        return f"{_kind(parts[0])}, or null"
    if get_origin(hint) is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if get_origin(hint) is tuple:
        return f"a list of {_kind(parts[0])}"
    if get_origin(hint) is dict:
        return f"a mapping to {_kind(parts[1])}"
    return "`{env: NAME}` or `{file: path}`" if hint is Secret else CALLED.get(hint, "settings")

"""The repository as a newcomer finds it: what it tells is there, and it tells nothing about one machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[1]
LOCK = "requirements-dev.lock"
LONGEST_MODULE = 400

# Written so that they do not match themselves.
MACHINE_PATH = re.compile(r"(?<![\w.])/(w[o]rk|r[o]ot|(h[o]me|U[s]ers)/[\w.-]+)/")
INDEX_HOST = re.compile(
    r"p[y]pi\.org|p[y]thonhosted\.org|n[p]mjs\.(org|com)|d[e]bian\.org|c[r]ates\.io|g[o]lang\.org",
    re.IGNORECASE,
)


def files() -> list[Path]:
    """The files of the project: those that git knows or would take, or else all outside generated folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [CHECKOUT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        generated = re.compile(r"\.venv|\.git|__pycache__|\..*_cache|\.hypothesis|build|dist")
        inside = (path.relative_to(CHECKOUT) for path in CHECKOUT.rglob("*"))
        found = [CHECKOUT / path for path in inside if not any(map(generated.fullmatch, path.parts))]
    return [path for path in found if path.is_file()]


def text_of(path: Path) -> str | None:
    """The text of a file; None where it holds something else."""
    content = path.read_bytes()
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def told_of_a_machine(text: str) -> list[str]:
    """The paths of one machine and the hosts of package indexes in a text."""
    return [found[0] for pattern in (MACHINE_PATH, INDEX_HOST) for found in pattern.finditer(text)]


def targets(makefile: str) -> set[str]:
    """The targets of a Makefile that `make help` shows."""
    return set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))


def told_targets(markdown: str) -> set[str]:
    """The targets that a text tells its reader to make, in its blocks and spans of code."""
    code = re.findall(r"```.*?```|`[^`]+`", markdown, re.DOTALL)
    told = (re.findall(r"(?<![\w-])make((?: +[a-z][a-z-]*)+)", part) for part in code)
    return {word for found in told for words in found for word in words.split()}


def dead_links(markdown: str, folder: Path) -> list[str]:
    """The links of a text to files that are not there."""
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", markdown)
    return [link for link in linked if not (folder / link).exists()]


def pins(lock: str) -> dict[str, tuple[str, int]]:
    """The version of each package in a lock file, and the number of files that may stand for it."""
    entries = re.findall(r"^([\w.-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})*)$", lock, re.MULTILINE)
    return {canonicalize_name(name): (version, hashes.count("--hash")) for name, version, hashes in entries}


def lock_faults(lock: str, wanted: list[str]) -> list[str]:
    """What keeps a lock file from standing for the wanted requirements, on any machine."""
    pinned = pins(lock)
    faults = []
    for requirement in map(Requirement, wanted):
        version, _ = pinned.get(canonicalize_name(requirement.name), ("", 0))
        if not version:
            faults.append(f"{requirement.name} is missing")
        elif not requirement.specifier.contains(version, prereleases=True):
            faults.append(f"{requirement.name} {version} is not {requirement.specifier}")
    faults += [f"{name} has no hash" for name, (_, hashes) in pinned.items() if not hashes]
    for line in lock.splitlines():
        names_a_place = re.match(r"-|.*(://| @ |file:)", line) and not line.startswith("#")
        if names_a_place:
            faults.append(f"names a place: {line}")
    return faults


def wanted() -> list[str]:
    """Every requirement in pyproject.toml, and what an editable installation needs."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"], "editables"]
    return needed + [requirement for extra in extras for requirement in extra]


def read(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def test_no_file_tells_of_one_machine() -> None:
    told = {path: told_of_a_machine(text) for path in files() if (text := text_of(path)) is not None}
    assert len(told) > 20
    assert {path: found for path, found in told.items() if found} == {}


@pytest.mark.parametrize(
    "parts",
    [
        ["see /", "work/main/spec"],
        ['open("/', 'root/x")'],
        ["(/", "home/me/x)"],
        ["https://", "py", "pi.org/simple"],
        ["files.", "python", "hosted.org"],
    ],
)
def test_a_text_about_one_machine_is_found(parts: list[str]) -> None:
    assert told_of_a_machine("".join(parts))


@pytest.mark.parametrize("text", ["../work/x", "spec/root/x", "/home/", "network/", "python.org"])
def test_other_paths_are_no_complaint(text: str) -> None:
    assert told_of_a_machine(text) == []


def test_every_module_is_short() -> None:
    lengths = {path: len(path.read_bytes().splitlines()) for path in files() if path.suffix == ".py"}
    assert len(lengths) > 10
    assert {path: length for path, length in lengths.items() if length > LONGEST_MODULE} == {}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_what_a_text_tells_to_make_and_to_read_is_there(name: str) -> None:
    assert told_targets(read(name))
    assert told_targets(read(name)) <= targets(read("Makefile"))
    assert dead_links(read(name), CHECKOUT) == []


def test_the_makefile_has_what_every_reader_expects() -> None:
    expected = {"verify", "test", "test-deep", "lint", "bench", "format", "lock", "clean", "help"}
    assert targets(read("Makefile")) >= expected
    assert re.findall(r"^section (\S+)$", read(".ci/run"), re.MULTILINE) == [
        "lint",
        "test",
        "test-integrations",
        "methods",
        "verify",
    ]


def test_a_missing_target_or_file_is_found(tmp_path: Path) -> None:
    text = "Run `make ready`, or\n```\nmake lint test\n```\nto make sure, and see [this](docs/gone.md#there)."
    assert told_targets(text) == {"ready", "lint", "test"}
    assert targets("ready: x ## Prepare\nhidden:\n\tmake\n") == {"ready"}
    assert dead_links(text, tmp_path) == ["docs/gone.md"]
    assert dead_links("[a](https://example.org/x) [b](#here)", tmp_path) == []


def test_the_licence_is_apache_2() -> None:
    licence = read("LICENSE")
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", licence)
    assert "END OF TERMS AND CONDITIONS" in licence
    assert all(f"\n   {section}. " in licence for section in range(1, 10))
    assert tomllib.loads(read("pyproject.toml"))["project"]["license"] == "Apache-2.0"


def test_the_lock_holds_every_requirement_and_names_no_place() -> None:
    assert lock_faults(read(LOCK), wanted()) == []


def test_the_lock_of_the_simulator_names_one_version_and_no_place() -> None:
    lock = read("requirements-oracle.lock")
    assert lock_faults(lock, ["ns.py==0.5.0"]) == []
    assert set(pins(lock)) == {"ns-py"}


def test_what_is_compiled_is_locked_for_more_than_this_machine() -> None:
    pinned = pins(read(LOCK))
    compiled = {
        name
        for distribution in metadata.distributions()
        if re.search(r"^Tag: .*(?<!-any)$", distribution.read_text("WHEEL") or "", re.MULTILINE)
        if (name := canonicalize_name(distribution.metadata["Name"])) in pinned
    }
    assert compiled >= {"msgspec", "z3-solver", "cvc5", "bitwuzla"}
    assert {name: pinned[name] for name in compiled if pinned[name][1] < 5} == {}


def test_a_lock_with_gaps_is_found() -> None:
    some = f" \\\n    --hash=sha256:{'0' * 64}"
    lock = f"msgspec==0.18.0{some}\nrich==15.0{some}{some}\n    # via sfq-spec\ntyper==0.20\n"
    assert pins(lock) == {"msgspec": ("0.18.0", 1), "rich": ("15.0", 2), "typer": ("0.20", 0)}
    assert lock_faults(lock, ["msgspec>=0.19", "rich>=13", "cvc5"]) == [
        "msgspec 0.18.0 is not >=0.19",
        "cvc5 is missing",
        "typer has no hash",
    ]
    for line in ("--find-links wheels", "-i http://localhost/simple", "x @ file:///x.whl", "./x.whl # file:x"):
        assert lock_faults(line, []) == [f"names a place: {line}"]

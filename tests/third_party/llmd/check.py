"""Puts the program-aware plugin of a checkout of llm-d-router to the vectors of LAS.

    python tests/third_party/llmd/check.py ~/llm-d-router
    python tests/third_party/llmd/check.py ~/llm-d-router HEAD=development-2026-08

For each REVISION=MODE the plugin's own files are taken from that revision, unchanged, and compiled with stand-ins for
the interfaces around them: neither Kubernetes nor any module of others is needed. The compiler is that of build/go
(`make build/go/.ready`), or another `go` of at least 1.25. Exit status: 0 all conform, 1 one does not, 2 usage.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
ROUTER = "github.com/llm-d/llm-d-router"
PLUGIN = "pkg/epp/framework/plugins/flowcontrol/fairness/program-aware"
INTERFACES = "pkg/epp/framework/interface"
PLACES = {
    "datalayer.go": f"{INTERFACES}/datalayer",
    "flowcontrol.go": f"{INTERFACES}/flowcontrol",
    "plugin.go": f"{INTERFACES}/plugin",
    "requestcontrol.go": f"{INTERFACES}/requestcontrol",
    "scheduling.go": f"{INTERFACES}/scheduling",
    "metadata.go": "pkg/epp/metadata",
    "subsystem.go": "pkg/epp/metrics",
    "help.go": "pkg/common/observability/metrics",
    "prometheus.go": "outside/prometheus/prometheus",
    "stability.go": "outside/component-base/metrics",
}
"""Where the stand-ins go in the module; the last two are modules of others."""
OUTSIDE = {
    "github.com/prometheus/client_golang": "outside/prometheus",
    "k8s.io/component-base": "outside/component-base",
}
SINCE = "1.25"
"""The version of Go that has testing/synctest."""
USUAL = ("v0.9.0=release-0.10", "ebab68792=development-2026-08")


class Unusable(Exception):
    """What was asked for cannot be done; the text says why."""


def plugin(checkout: Path, revision: str) -> dict[str, str]:
    """The plugin's files by name, without its tests. Raises `Unusable`."""
    names = _git(checkout, "ls-tree", "--name-only", revision, f"{PLUGIN}/").split()
    wanted = [name for name in names if name.endswith(".go") and not name.endswith("_test.go")]
    if not wanted:
        raise Unusable(f"{revision} has no {PLUGIN}: that is where llm-d-router has it since v0.9.0")
    return {Path(name).name: _git(checkout, "show", f"{revision}:{name}") for name in wanted}


def build(files: Mapping[str, str], folder: Path) -> Path:
    """The adapter around these files of a plugin, compiled in an empty folder. Raises `Unusable`."""
    replaced = "".join(f"require {name} v0.0.0\nreplace {name} => ./{at}\n" for name, at in OUTSIDE.items())
    texts = {f"{PLUGIN}/{name}": text for name, text in files.items()} | {"go.mod": _module(ROUTER) + replaced}
    texts |= {f"{at}/{name}": (HERE / "standins" / name).read_text(encoding="utf-8") for name, at in PLACES.items()}
    texts |= {f"{at}/go.mod": _module(name) for name, at in OUTSIDE.items()}
    texts["sfq/adapter_test.go"] = (HERE / "adapter_test.go").read_text(encoding="utf-8")
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    alone = os.environ | {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOCACHE": str(CHECKOUT / "build/go/cache")}
    command = [go(), "test", "-c", "-o", str(folder / "adapter"), "./sfq"]
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unusable(f"it does not compile:\n{done.stderr.strip()}")
    return folder / "adapter"


def go() -> str:
    """The compiler. Raises `Unusable` where there is none."""
    found = shutil.which("go", path=f"{CHECKOUT / 'build/go/go/bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise Unusable(f"there is no go: `make build/go/.ready` puts one there, or install Go {SINCE} or newer")
    return found


def validated(adapter: Path, mode: str, version: str, *more: str) -> int:
    """The exit status of `sfq-spec validate`, whose words go where this program's go."""
    asked = [str(Path(sys.executable).with_name("sfq-spec")), "validate", "--policy", "las", "--only", mode, *more]
    words = os.environ | {"SFQ_MODE": mode, "SFQ_VERSION": version}
    return subprocess.run([*asked, "--", str(adapter)], env=words, check=False).returncode


def main() -> None:
    """Every revision that is asked for."""
    form = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=form, add_help=True)
    options.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a clone of llm-d-router, or its .git")
    options.add_argument("asked", nargs="*", default=USUAL, metavar="REVISION=MODE", help=f"default: {' '.join(USUAL)}")
    given = options.parse_args()
    worst = 0
    for one in given.asked:
        revision, _, mode = one.rpartition("=")
        if not revision:
            options.error(f"{one!r} is no REVISION=MODE, such as {USUAL[0]}")
        print(f"==> {revision}, as {mode}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                adapter = build(plugin(given.checkout, revision), Path(folder))
            except Unusable as reason:
                options.exit(2, f"{one}: {reason}\n")
            worst = max(worst, validated(adapter, mode, revision))
    sys.exit(worst)


def _module(name: str) -> str:
    return f"module {name}\n\ngo {SINCE}\n\n"


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unusable(done.stderr.strip() or f"git {arguments[0]} failed")
    return done.stdout


if __name__ == "__main__":
    main()

"""The configuration of a gateway: what may be set, what is assumed where nothing is said, and what is refused."""

from __future__ import annotations

import os
import ssl
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal
from urllib.parse import urlsplit

from sfq_impl.gateway.naming import ANONYMOUS, IdentitySettings
from sfq_impl.gateway.ordering import KEYS, ORDERS, Ordering, ordering
from sfq_impl.gateway.reading import Complaints, ConfigError, Reader, Secret, Unread, setting
from sfq_impl.policy.identity import AGENT_HEADERS, DEFAULT_ID
from sfq_impl.tokens import NoTokenizer, tokenizer


def _url(said: object, _: Path) -> str:
    url = str(said)
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        right = right and url.isprintable() and " " not in url
    except ValueError:
        right = False
    if "@" in url:  # first, as what is wrong is shown
        raise ValueError("holds a password; give the server a `key` instead")
    if not isinstance(said, str) or not right:
        raise ValueError(f"is {_shown(said)}; write http://host:port or https://host:port")
    if parts.query or parts.fragment or parts.path.rstrip("/").endswith("/v1"):
        raise ValueError("write it without /v1 and without what would follow it")
    return url


def _path(said: object, _: Path) -> str:
    if not isinstance(said, str) or (said and not said.startswith("/")):
        raise ValueError(f"is {_shown(said)}; a path begins with /")
    return said


def _address(said: object, _: Path) -> str:
    host, _colon, port = str(said).rpartition(":")
    if not isinstance(said, str) or not host or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"is {_shown(said)}; write host:port, for instance 127.0.0.1:8080")
    return said


def _shown(said: object) -> str:
    if said is None or isinstance(said, list | dict | set):
        return "empty" if not said else "a collection"
    return repr(str(said))


@dataclass(frozen=True)
class ServerSettings:
    """A server of the fleet."""

    url: str = setting("where it is: http://host:port, or https; a path before /v1 is kept", read_by=_url)
    name: str = setting("what it is called in metrics and logs; where nothing is said, host:port of its URL", "")
    requests: int = setting("how many requests it serves at once", 8, least=1)
    tokens: int | None = setting(
        "how many tokens fit in its memory; where nothing is said they are not counted", None, least=1
    )
    key: Secret | None = setting("the key that it wants, as {env: NAME} or {file: path}", None)
    ca: Path | None = setting("the authority to trust, for https with a certificate of one's own", None)
    health: str = setting(
        "the path that answers 200 where it is up; empty: it is taken to be up", "/health", read_by=_path
    )
    drain: bool = setting("whether it gets no new requests, and keeps those that it has", False)

    def check(self) -> Complaints:
        """What is wrong."""
        try:
            self.trust()
        except (OSError, ValueError) as error:
            yield "ca", f"cannot be used: {_reason(error)}"

    def trust(self) -> ssl.SSLContext | None:
        """What vouches for the server, where that is not what this machine trusts anyway. Raises `OSError`."""
        return None if self.ca is None else ssl.create_default_context(cafile=self.ca)

    @property
    def base(self) -> str:
        """The URL without a slash at its end."""
        return self.url.rstrip("/")

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or urlsplit(self.url).netloc


@dataclass(frozen=True)
class LimitSettings:
    """What is taken in; null is no limit."""

    requests: int | None = setting("how many requests may wait, of all users", 10_000, least=1)
    requests_of_a_user: int | None = setting("how many requests of one user may wait", None, least=1)
    cost: int | None = setting("what all that waits may cost together", None, least=1)
    cost_of_a_user: int | None = setting("what all that waits of one user may cost together", None, least=1)
    wait: float | None = setting("how many seconds a request may wait", 60.0, above=0)
    body: int = setting("how many bytes the body of a request may have", 8 << 20, least=1)
    bodies: int | None = setting("how many bytes the bodies of all requests that are here may have", 1 << 30, least=1)
    headers: int = setting("how many bytes the headers of a request may have", 32 << 10, least=256)
    connections: int | None = setting("how many connections may be open, but for `/health` and `/ready`", None, least=1)


@dataclass(frozen=True)
class CostSettings:
    """What a request is charged (article §7.4)."""

    input_weight: float = setting("what a token of input costs", 1, least=0)
    cached_weight: float | None = setting("prefix-affine: the same of one that a server remembers", None, least=0)
    output_weight: float = setting("what a token of output costs", 2, least=0)
    attachment: int = setting("how many tokens a picture, a sound or a file in a chat is taken to be", 1024, least=0)
    cap: int = setting("the cap of output that is assumed where a request has none, in tokens", 1024, least=1)
    caps: dict[str, int] = setting("the same by model", dict, least=1)
    ratio: float = setting("which part of the cap is expected to be used, to begin with", 0.25, above=0)
    learn: bool = setting("whether that part is learnt from what requests have used", True)
    per_user: bool = setting("whether it is learnt for each user of a model, and not only for the model", True)
    state: Path | None = setting("the file that keeps what was learnt", None)
    tokenizers: dict[str, Path] = setting("tokenizer.json by model; the tokens of others are bytes / 4", dict)

    def check(self) -> Complaints:
        """What is wrong."""
        if self.input_weight == self.output_weight == 0:
            yield "output_weight", "both weights are 0, and nothing would cost anything; set one above 0"

    def check_tokenizers(self) -> Complaints:
        """What is wrong."""
        for model, path in self.tokenizers.items():
            try:
                if isinstance(path, Path):
                    tokenizer(path)
            except NoTokenizer as error:
                yield "tokenizers", f"{model}: {error}"

    def check_state(self) -> Complaints:
        """What is wrong."""
        folder = None if self.state is None else self.state.parent
        if folder is not None and not folder.is_dir():
            yield "state", f"there is no folder {folder}; make it, or name another one"
        elif folder is not None and (why := _unwritable(folder)):
            yield "state", why

    def check_ratio(self) -> Complaints:
        """What is wrong."""
        if self.ratio > 1:
            yield "ratio", f"is {self.ratio:g}; it is at most 1, the whole cap"


@dataclass(frozen=True)
class PlacementSettings:
    """Where a request goes, once it is its turn."""

    strategy: Literal["least-loaded", "prefix-affine"] = setting(
        "which of the servers with room: the emptiest, or the one that remembers most of the prompt", "least-loaded"
    )
    mode: Literal["stall", "overtake"] = setting(
        "where the next request fits nowhere: everybody waits for it, or others go first", "stall"
    )
    factor: float = setting("prefix-affine: how many times as full as the emptiest a server may be", 2.0, least=1)
    blocks: int = setting("prefix-affine: how many blocks of 1,024 bytes a server remembers", 4_096, least=1)


@dataclass(frozen=True)
class TimeoutSettings:
    """Seconds to wait for a server."""

    connect: float = setting("until it has taken the connection", 5.0, above=0)
    first_byte: float = setting("until its answer begins", 300.0, above=0)
    idle: float = setting("between two pieces of its answer", 120.0, above=0)


@dataclass(frozen=True)
class HealthSettings:
    """How servers are watched."""

    interval: float = setting("seconds between two checks of a server", 2.0, above=0)
    timeout: float = setting("seconds that a check may take", 2.0, above=0)
    down_after: int = setting("how many checks must fail, one after another, until it is taken for down", 2, least=1)


@dataclass(frozen=True)
class TlsSettings:
    """HTTPS for the clients."""

    certificate: Path = setting("the file with the certificate, and the chain after it")
    key: Path = setting("the file with the private key")

    def check(self) -> Complaints:
        """What is wrong."""
        if not self.certificate.is_file():
            yield "certificate", f"there is no file {self.certificate.name}"

    def check_key(self) -> Complaints:
        """What is wrong."""
        if not self.key.is_file():
            yield "key", f"there is no file {self.key.name}"

    def check_pair(self) -> Complaints:
        """What is wrong."""
        if not self.certificate.is_file() or not self.key.is_file():
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, lambda: "")
        except (OSError, ValueError) as error:
            yield "certificate", f"cannot be used with its key: {_reason(error)}"


@dataclass(frozen=True)
class LoggingSettings:
    """What is written to standard error: a JSON object a line, without prompts and without secrets."""

    level: Literal["debug", "info", "warning", "error"] = setting("the least grave thing that is told", "info")
    requests: bool = setting("whether there is a line for each request", True)


@dataclass(frozen=True)
class RecordSettings:
    """The trace that the gateway writes of itself, for `sfq-spec audit`."""

    path: Path = setting("folder and name of the files: NAME becomes NAME-0001-0001.jsonl, and so on")
    bytes: int = setting("how large a file becomes until the next one is begun", 64_000_000, least=1024)
    files: int = setting("how many files are kept", 16, least=2)

    def check(self) -> Complaints:
        """What is wrong."""
        if why := _unwritable(self.path.parent):
            yield "path", why


@dataclass(frozen=True)
class ShadowSettings:
    """The specification beside the dispatcher, for the policy sfq: every decision is held against it."""

    path: Path = setting("the folder in which a reproduction of each divergence is saved", Path("divergences"))
    queue: int = setting("how many events may wait to be looked at; more are passed over and counted", 50_000, least=1)

    def check(self) -> Complaints:
        """What is wrong."""
        if why := _unwritable(self.path):
            yield "path", why


@dataclass(frozen=True)
class Settings:
    """All of it. Only `servers` must be there."""

    servers: tuple[ServerSettings, ...] = setting("the servers, all of which serve the same models")
    listen: str = setting(
        "the address for clients, host:port; port 0 takes a free one", "127.0.0.1:8080", read_by=_address
    )
    policy: Ordering = setting(
        "who is next; a policy of queues may be told with its parameters, or as in llm-d",
        Ordering("sfq"),
        read_by=ordering,
        called=" or ".join(f"`{name}`" for name in ORDERS),
        within=KEYS,
    )
    placement: PlacementSettings = setting("where a request goes", PlacementSettings)
    weights: dict[str, float] = setting("shares by user; who is not named has 1", dict, above=0)
    limits: LimitSettings = setting("what is taken in", LimitSettings)
    cost: CostSettings = setting("what a request is charged", CostSettings)
    identity: IdentitySettings = setting("who a request is from", IdentitySettings)
    timeouts: TimeoutSettings = setting("how long servers are waited for", TimeoutSettings)
    retries: int = setting("how often another server is tried, before the first byte of an answer", 2, least=0)
    health: HealthSettings = setting("how servers are watched", HealthSettings)
    tls: TlsSettings | None = setting("HTTPS for the clients", None)
    logging: LoggingSettings = setting("what is told", LoggingSettings)
    metrics_users: int = setting("how many users have metrics of their own; the rest are `other`", 100, least=0)
    metrics_key: Secret | None = setting("the key that /metrics wants; without it anybody may read it", None)
    record: RecordSettings | None = setting("the trace that is written", None)
    shadow: ShadowSettings | None = setting(
        "the specification beside it, which holds every decision against the rules; as `serve --shadow`", None
    )
    drain: float = setting(
        "seconds in which what waits is still served at the end; what is left gets 503", 30.0, least=0
    )
    watch: bool = setting("whether a change of the file is read at once; SIGHUP reads it in any case", True)
    secrets: tuple[Secret, ...] = ()
    """Each that was read; not a setting."""
    folder: Path = Path()
    """What the paths in the file are relative to; not a setting."""
    shadow_by_option: bool = False
    """Whether the command line has asked for a shadow; not a setting."""

    def check(self) -> Complaints:
        """What is wrong."""
        if not self.servers:
            yield "servers", "names no server; add `- url: http://host:port`"

    def check_names(self) -> Complaints:
        """What is wrong."""
        names = list[str]()
        for server in self.servers:
            with suppress(Unread):
                names.append(server.called)
        for name, count in Counter(names).items():
            if count > 1:
                yield "servers", f"{count} servers are called {name}; give each a `name` of its own"

    def check_placement(self) -> Complaints:
        """What is wrong."""
        if self.policy.name != "sfq" and self.placement.mode == "overtake":
            yield "placement", f"others can overtake under the policy sfq only, not under {self.policy.name}"

    def check_cost(self) -> Complaints:
        """What is wrong."""
        if self.cost.cached_weight is not None and self.placement.strategy != "prefix-affine":
            yield (
                "cost",
                "cached_weight: nobody knows what servers remember; set `placement: {strategy: prefix-affine}`",
            )

    def check_shadow(self) -> Complaints:
        """What is wrong."""
        if self.policy.name != "sfq" and self.shadow is not None:
            yield "shadow", f"follows the policy sfq only, not {self.policy.name}"

    def check_priority(self) -> Complaints:
        """What is wrong."""
        if self.identity.priority is not None and not self.policy.has_queues:
            yield "identity", f"priority: {self.policy.name} knows no priorities; a policy of queues does"

    @property
    def naming(self) -> IdentitySettings:
        """Who a request is from, as it is under this policy: llm-d's names where it is a policy of queues."""
        named, policy = self.identity, self.policy
        if policy.has_queues and named.default == ANONYMOUS:
            named = replace(named, default=DEFAULT_ID)
        return replace(named, headers=(*named.headers, *AGENT_HEADERS)) if policy.reads_agents else named

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


def _unwritable(folder: Path) -> str | None:
    """Why nothing can be written in a folder, which is made where it is not there; None where it can."""
    there = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    if not there.is_dir():
        return f"{there} is no folder; name another one"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} is a folder without the right to write; name another one"
    try:
        with TemporaryFile(dir=there):
            return None
    except OSError as error:
        return f"{there} is a folder in which nothing can be written ({error.strerror}); name another one"


FIXED = ("listen", "policy", "placement", "tls", "record", "shadow", "metrics_users", "watch")
"""What a running gateway keeps until it is started again."""


class NoFile(ConfigError):
    """There is no file, or it cannot be read."""


def load(path: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in a file. Raises `ConfigError`, and of these `NoFile`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NoFile([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}:{line}: is not UTF-8; save the file in that encoding"]) from None
    return parse(text, str(path), path.parent, environ)


def parse(text: str, file: str, folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in a text that stands for a file. Raises `ConfigError`."""
    reader = Reader(file, folder, os.environ if environ is None else environ)
    return replace(reader.read(text, Settings), secrets=tuple(reader.secrets), folder=folder)

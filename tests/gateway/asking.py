"""Requests of the tests: by the client that everybody uses, and byte by byte."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import openai

from gateway.running import Running

KEY = "sk-nobody-may-see-this-0123456789"
FAIRNESS = "x-llm-d-inference-fairness-id"
TO_THE_END = {"ignore_eos": True}
"""Of the engine: as many tokens as are asked for, as the model's words are random."""
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


def client(gateway: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=gateway.url + "/v1", api_key=KEY, max_retries=0, timeout=20)


def complete(gateway: Running, prompt: str = "hello", user: str = "ann", model: str = "tiny", **more: Any) -> Any:
    headers = {FAIRNESS: user}
    sdk = client(gateway).completions
    return sdk.create(model=model, prompt=prompt, extra_headers=headers, extra_body=TO_THE_END, **more)


def stream(gateway: Running, user: str = "ann", model: str = "tiny", **more: Any) -> openai.Stream[Any]:
    made = client(gateway).chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "hello"}],
        stream=True,
        extra_headers={FAIRNESS: user},
        extra_body=TO_THE_END,
        **more,
    )
    assert isinstance(made, openai.Stream)
    return made


def post(
    gateway: Running, body: bytes | dict[str, Any], path: str = COMPLETIONS, headers: dict[str, str] | None = None
) -> tuple[HTTPResponse, bytes]:
    """The answer, and its body as it came without the framing of HTTP."""
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=20)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, sent, {"content-type": "application/json"} | (headers or {}))
    response = connection.getresponse()
    read = response.read()
    connection.close()
    return response, read


def get(gateway: Running, path: str, authorization: str | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=20)
    connection.request("GET", path, headers={"authorization": authorization} if authorization else {})
    response = connection.getresponse()
    read = response.read()
    connection.close()
    return response.status, read


def raw(gateway: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    """All that comes back on one connection for these bytes, until the gateway closes it or is silent."""
    connection, got = socket.create_connection(("127.0.0.1", gateway.port), timeout=1.0), b""
    for part in parts:
        connection.sendall(part)
        time.sleep(pause)
    with suppress(TimeoutError, ConnectionError):
        while piece := connection.recv(1 << 16):
            got += piece
    connection.close()
    return got


def written(body: bytes | dict[str, Any], *headers: str, path: str = COMPLETIONS, last: bool = True) -> bytes:
    """A request as it is on the wire; the `last` one of its connection."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(text)}", *headers]
    return "\r\n".join([*lines, *["connection: close"] * last, "", ""]).encode("latin-1") + text


def begun(gateway: Running, body: dict[str, Any], user: str = "ann") -> socket.socket:
    """A request that has been sent and whose answer nobody has read yet."""
    text = json.dumps(body).encode()
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nhost: x\r\n{FAIRNESS}: {user}\r\ncontent-length: {len(text)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=20)
    connection.sendall(head.encode() + text)
    return connection


def aside(function: Callable[..., Any], *arguments: Any, **more: Any) -> Future[Any]:
    """A call in a thread of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments, **more))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def unchunked(answer: bytes) -> bytes:
    """The body of an answer that came in chunks."""
    return b"".join(_chunks(answer.partition(b"\r\n\r\n")[2]))


def _chunks(rest: bytes) -> Iterator[bytes]:
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        yield rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]

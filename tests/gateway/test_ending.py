"""An end that does not wait: whoever has no answer yet is told so, and what was decided is written."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateway.asking import aside, unchunked, written
from gateway.running import HEAD, FaultServer, chunk
from gateway.test_command import PATIENCE, command, config
from sfq_spec.cli import app


@pytest.mark.integration
def test_a_second_signal_ends_it_at_once_and_answers_what_is_on_its_way(fault: FaultServer, tmp_path: Path) -> None:
    with command(config(tmp_path, fault.url, f"record: {{path: {tmp_path / 'own'}}}\n")) as served:
        port = int(served.told("listening")["url"].rpartition(":")[2])
        asked = [aside(_answer, port, "hang")]
        while not fault.got:
            time.sleep(0.01)
        asked.append(aside(_answer, port, "echo"))
        time.sleep(0.3)
        served.send(signal.SIGTERM)
        served.told("stopping")
        served.send(signal.SIGTERM)
        served.told("stopping at once")
        assert served.child.wait(PATIENCE) == 0
        for each in asked:
            answer = each.result(PATIENCE)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "shutting_down"
        assert not [line for line in served.lines if line["level"] == "error"]
    [trace] = tmp_path.glob("own-*.jsonl")
    events = [json.loads(line)["event"] for line in trace.read_text().splitlines()]
    assert sorted(events) == ["arrive", "arrive", "cancel", "complete", "dispatch"]
    assert CliRunner().invoke(app, ["audit", str(trace)]).exit_code == 0


@pytest.mark.parametrize("model", ["stall", "stall_within_an_event"])
def test_a_second_signal_is_told_in_streams_that_have_begun(model: str, tmp_path: Path) -> None:
    fault = StallingServer()
    with command(config(tmp_path, fault.url)) as served:
        port = int(served.told("listening")["url"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(written({"model": model}))
            got = b""
            while (b'data: {"choices":[]}' if model == "stall" else b'data: {"cho\r\n') not in got:
                got += connection.recv(1 << 16)
            served.send(signal.SIGTERM)
            served.told("stopping")
            served.send(signal.SIGTERM)
            while piece := connection.recv(1 << 16):
                got += piece
        assert served.child.wait(PATIENCE) == 0
        assert served.told("request")["error"] == "shutting_down"
    *_, last = unchunked(got).removesuffix(b"\n\n").split(b"\n\n")
    assert not got.endswith(b"0\r\n\r\n")
    if model == "stall":
        assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "shutting_down"
    else:
        assert last == b'data: {"cho'
    fault.close()


class StallingServer(FaultServer):
    """Falls silent within an event, too."""

    async def do_stall_within_an_event(self, reader: Any, writer: Any, body: bytes) -> None:
        writer.write(HEAD + chunk(b'data: {"choices":[]}\n\n') + chunk(b'data: {"cho'))
        await self._gone(reader)


def _answer(port: int, model: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(written({"model": model}))
        got = b""
        while piece := connection.recv(1 << 16):
            got += piece
    return got

"""Files of real requests become scripts of events: the formats, the pool of servers, the sample."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from sfq_spec import sample
from sfq_spec.importers import FORMATS, azure
from sfq_spec.importers.pool import Pool, Prices, Service
from sfq_spec.importers.rows import SECOND, Arrival, Imported
from sfq_spec.running import run
from sfq_spec.scheduler import MachineScheduler, load
from sfq_spec.trace import Arrive, BadLine, Complete, Dispatch, Entry, encode, read


def imported(format: str, text: str | bytes) -> Imported:
    return FORMATS[format](io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def seconds(entry: Entry) -> Decimal:
    return Decimal(bytes(entry.extra["time"]).decode())


def told(entries: Sequence[Entry]) -> list[str]:
    """The events in short: time, and what happens."""
    words = []
    for entry in entries:
        match entry.event:
            case Arrive(request=request, cost=cost):
                words.append(f"{seconds(entry)} +{request} {cost}")
            case Complete(request=request):
                words.append(f"{seconds(entry)} done {request}")
            case _:
                words.append(f"{seconds(entry)} dispatch")
    return words


SERVEGEN = "arrival_s,client,input_tokens,output_tokens\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
VTC = "client,req_time,first_token_latency,request_latency,prompt_len,output_len\n"


class TestFormats:
    @pytest.mark.integration
    def test_servegen(self) -> None:
        assert imported("servegen", SERVEGEN + "0.0,c1,10,20\n1.5,c2,0,7\n0.000001,c1,5,5\n") == Imported(
            [Arrival(0, "c1", 10, 20), Arrival(1, "c1", 5, 5), Arrival(1_500_000, "c2", 0, 7)]
        )

    def test_azure_is_one_flow_from_its_earliest_request_on(self) -> None:
        text = AZURE + "2023-12-31 23:59:59.9000009,374,44\n2024-01-01 00:00:00.12,5,6\n2023-12-31 23:59:59,1,2"
        assert imported("azure", text) == Imported(
            [Arrival(0, "azure", 1, 2), Arrival(900_000, "azure", 374, 44), Arrival(1_120_000, "azure", 5, 6)]
        )

    def test_azure_can_be_dealt_out(self) -> None:
        one = imported("azure", AZURE + "".join(f"2024-05-10 00:00:{n:02}+00:00,1,{n}\n" for n in range(12)))
        dealt = azure.deal(one, 10)
        assert [a.user for a in dealt.arrivals] == [f"azure-{n:02}" for n in (*range(1, 11), 1, 2)]
        assert [(a.time, a.output_tokens) for a in dealt.arrivals] == [(n * SECOND, n) for n in range(12)]

    def test_mooncake_users_are_conversations_after_the_common_prompt(self) -> None:
        rows = [(0, [7, 8, 10, 11]), (5, [7, 8, 20]), (9, [7, 8, 10, 12]), (9.5, [7, 8])]
        text = "".join(
            json.dumps({"timestamp": time, "input_length": 5, "output_length": 6, "hash_ids": blocks}) + "\n"
            for time, blocks in rows
        )
        assert [(a.time, a.user) for a in imported("mooncake", text).arrivals] == [
            (0, "p10"),
            (5_000, "p20"),
            (9_000, "p10"),
            (9_500, "p8"),
        ]

    def test_mooncake_without_a_common_prompt(self) -> None:
        row = '{{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [{}, 9], "more": 1}}\n'
        assert imported("mooncake", row.format(4) + "\n" + row.format(5)) == Imported(
            [
                Arrival(27_482_000, "p4", 6955, 52, prefix=(4, 9)),
                Arrival(27_482_000, "p5", 6955, 52, prefix=(5, 9)),
            ]
        )

    def test_vtc_leaves_rejected_requests_out(self) -> None:
        text = VTC + "1,0.5,1.25,9.0,13,199\n0,0.25,-1.000000,-1.000000,1,2\n0,0.75,0.0,1.0,3,4\n"
        assert imported("vtc", text) == Imported([Arrival(500_000, "1", 13, 199), Arrival(750_000, "0", 3, 4)], 1)

    @pytest.mark.parametrize("format", ["servegen", "vtc"])
    def test_columns_may_come_in_any_order_beside_others(self, format: str) -> None:
        columns = {
            "servegen": {"arrival_s": "1", "client": '"a, ""b"""', "input_tokens": "2", "output_tokens": "3"},
            "vtc": {
                "req_time": "1",
                "client": '"a, ""b"""',
                "prompt_len": "2",
                "output_len": "3",
                "first_token_latency": "4",
            },
        }[format]
        text = ",".join([*reversed(columns), "more"]) + "\r\n\r\n" + ",".join([*reversed(columns.values()), "x"])
        assert imported(format, "\ufeff" + text) == Imported([Arrival(SECOND, 'a, "b"', 2, 3)])

    def test_requests_of_one_instant_keep_the_order_of_the_file(self) -> None:
        text = SERVEGEN + "".join(f"{time},c{9 - n},1,1\n" for n, time in enumerate([2, 1, 1, 2, 1]))
        assert [arrival.user for arrival in imported("servegen", text).arrivals] == ["c8", "c7", "c5", "c9", "c6"]

    @pytest.mark.parametrize("format", FORMATS)
    def test_a_file_without_requests(self, format: str) -> None:
        header = {"servegen": SERVEGEN, "azure": AZURE, "vtc": VTC, "mooncake": ""}[format]
        assert not imported(format, header).arrivals
        assert not list(Service([]).script())

    @pytest.mark.parametrize(
        ("format", "text", "line", "field", "reason"),
        [
            ("servegen", "", 1, None, "is not there: the file needs a header with arrival_s, client"),
            ("servegen", AZURE, 1, "arrival_s", "is missing from the header, which needs arrival_s, client"),
            ("servegen", SERVEGEN.replace("c", "client,c", 1), 1, "client", "is more than once in the header"),
            ("servegen", SERVEGEN + "0,c1,2\n", 2, None, "has 3 fields; the header has 4"),
            ("servegen", SERVEGEN + "0,c1,2,3\n0,c1,2", 3, None, "has 3 fields; the header has 4"),
            ("servegen", SERVEGEN + "0,c1,2,3,4\n", 2, None, "has 5 fields"),
            ("servegen", SERVEGEN + "abc,c1,2,3\n", 2, "arrival_s", "'abc' is not a number"),
            ("servegen", SERVEGEN + "-1,c1,2,3\n", 2, "arrival_s", "'-1' is not a time: a finite number from 0 up"),
            ("servegen", SERVEGEN + "nan,c1,2,3\n", 2, "arrival_s", "'nan' is not a time"),
            ("servegen", SERVEGEN + "inf,c1,2,3\n", 2, "arrival_s", "'inf' is not a time"),
            ("servegen", SERVEGEN + "0, ,2,3\n", 2, "client", "is empty"),
            ("servegen", SERVEGEN + "0,c1,-2,3\n", 2, "input_tokens", "'-2' is not a whole number of tokens"),
            ("servegen", SERVEGEN + "0,c1,2,3.5\n", 2, "output_tokens", "'3.5' is not a whole number of tokens"),
            ("servegen", SERVEGEN + "0,c1,,3\n", 2, "input_tokens", "'' is not a whole number"),
            ("servegen", SERVEGEN + "0,c1,²,3\n", 2, "input_tokens", "'²' is not a whole number"),
            ("servegen", SERVEGEN + f"0,c1,{'9' * 5000},3\n", 2, "input_tokens", "'9999"),
            ("servegen", SERVEGEN + '0,"c1,2,3\n', 2, None, "is not CSV"),
            ("servegen", SERVEGEN.encode() + b"0,c\xff,2,3\n", 2, None, "is not UTF-8 (byte 4)"),
            ("servegen", SERVEGEN + "\n\n0,c1,2,x\n", 4, "output_tokens", "'x' is not"),
            ("servegen", SERVEGEN + "0,c1,2," + "3" * (1 << 20), 2, None, "is longer than 1,048,576 bytes"),
            ("azure", AZURE + "2023-11-16,1,2\n", 2, "TIMESTAMP", "'2023-11-16' is not a time such as"),
            ("azure", AZURE + "2023-02-30 00:00:00,1,2\n", 2, "TIMESTAMP", "day is out of range"),
            ("azure", AZURE + "2023-11-16 00:00:00+01:00,1,2\n", 2, "TIMESTAMP", "is not a time such as"),
            ("vtc", VTC + "0,1,x,1,2,3\n", 2, "first_token_latency", "'x' is not a number"),
            ("vtc", VTC + "0,1,nan,1,2,3\n", 2, "first_token_latency", "nan is not a latency"),
            ("vtc", VTC + "0,1,-1,1,2,x\n", 2, "output_len", "'x' is not a whole number"),
            ("mooncake", '{"timestamp": 1', 1, None, "is not JSON"),
            ("mooncake", "\n[1]\n", 2, None, "is not a JSON object with timestamp, input_length"),
            ("mooncake", "[" * 100_000, 1, None, "is nested too deeply"),
            ("mooncake", "{}", 1, "timestamp", "is missing"),
        ],
    )
    def test_a_bad_row(self, format: str, text: str | bytes, line: int, field: str | None, reason: str) -> None:
        with pytest.raises(BadLine) as caught:
            imported(format, text)
        assert (caught.value.line, caught.value.field) == (line, field)
        assert reason in caught.value.reason
        assert len(str(caught.value)) < 200

    @pytest.mark.parametrize(
        ("field", "value", "reason"),
        [
            ("timestamp", None, "null is not a number"),
            ("timestamp", -1, "-1 is not a time"),
            ("input_length", 1.5, "is not a whole number"),
            ("output_length", True, "True is not a whole number"),
            ("output_length", "x", "'x' is not a whole number"),
            ("hash_ids", [], "is not a list of at least one block number"),
            ("hash_ids", ["a"], "is not a list"),
            ("hash_ids", [True], "is not a list"),
            ("hash_ids", 5, "is not a list"),
        ],
    )
    def test_a_bad_field_of_mooncake(self, field: str, value: object, reason: str) -> None:
        row = {"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": [4]}
        with pytest.raises(BadLine, match=f"line 2: field `{field}`") as caught:
            imported("mooncake", json.dumps(row) + "\n" + json.dumps(row | {field: value}))
        assert reason in caught.value.reason


class TestPool:
    def test_a_small_run_by_hand(self) -> None:
        arrivals = [Arrival(0, "A", 1, 2), Arrival(0, "A", 1, 0), Arrival(0, "B", 2, 0), Arrival(500_000, "B", 0, 0)]
        service = Service(arrivals, Pool(1, Fraction(1, 4), Fraction(1, 8)), Prices(1, 2))
        assert told(list(service.script())) == [
            "0 +A-1 5",
            "0 +A-2 1",
            "0 +B-1 2",
            "0 dispatch",  # A-1, for 1/4 + 2/8 s
            "0.5 done A-1",
            "0.5 +B-2 1",
            "0.5 dispatch",  # B-1, whose meter is 0 and A's is 5, for 2/4 s
            "1 done B-1",
            "1 dispatch",  # B-2, which is empty: it costs 1 and takes a microsecond
            "1.000001 done B-2",
            "1.000001 dispatch",
            "1.250001 done A-2",
        ]
        seen = service.congestion
        assert (seen.longest, seen.congested, seen.elapsed) == (2, 1_000_001, 1_250_001)
        assert seen.waited == 2 * 500_000 + 2 * 500_000 + 1

    def test_nothing_drifts(self) -> None:
        service = Service([Arrival(0, "A", 0, 1)] * 30, Pool(1, Fraction(0), Fraction(1, 10)))
        assert [seconds(entry) for entry in service.script()][-1] == 3

    def test_a_third_of_a_second_is_rounded_up(self) -> None:
        pool = Pool(1, Fraction(1, 3), Fraction(1, 7))
        assert pool.service(Arrival(0, "A", 1, 0)) == 333_334
        assert pool.service(Arrival(0, "A", 1, 1)) == 476_191

    def test_the_default_is_as_many_as_the_file_keeps_busy(self) -> None:
        pool = Pool(None, Fraction(0), Fraction(1))
        busy = [Arrival(time * SECOND, "A", 0, 3) for time in range(11)]
        assert pool.size(busy) == 4  # 33 s of service in 10 s
        assert pool.size(busy[:1]) == pool.size([]) == pool.size([busy[0]] * 5) == 1
        assert pool.size(busy[:2]) == 6

    def test_prices(self) -> None:
        assert Prices().cost(Arrival(0, "A", 10, 20)) == 50
        assert Prices(0, 3).cost(Arrival(0, "A", 10, 20)) == 60
        assert Prices().cost(Arrival(0, "A", 0, 0)) == 1

    @given(
        st.lists(
            st.builds(
                Arrival,
                st.integers(0, 12).map(lambda time: time * 250_000),
                st.sampled_from(["A", "B", "A-1", "Ä"]),
                st.integers(0, 4),
                st.integers(0, 4),
            ),
            max_size=20,
        ),
        st.none() | st.integers(1, 4),
    )
    def test_any_script_is_one_that_servers_could_have_made(self, arrivals: list[Arrival], servers: int | None) -> None:
        arrivals = sorted(arrivals, key=lambda arrival: arrival.time)
        pool = Pool(servers, Fraction(1, 4), Fraction(1, 2))
        service = Service(arrivals, pool)
        entries = list(service.script())
        trace = list(run(entries, MachineScheduler()))
        began: dict[str, Decimal] = {}
        ended: set[str] = set()
        arrived: list[Arrive] = []
        for entry, answered in zip(entries, trace, strict=True):
            waiting = len(arrived) - len(began)
            match entry.event:
                case Arrive():
                    assert answered.answer.refused is UNSET
                    assert seconds(entry) * SECOND == arrivals[len(arrived)].time
                    arrived.append(entry.event)
                case Dispatch():
                    assert waiting > 0
                    assert isinstance(answered.answer.dispatched, str)
                    began[answered.answer.dispatched] = seconds(entry)
                    assert len(began) - len(ended) <= service.servers
                case Complete(request=request):
                    arrival = arrivals[[event.request for event in arrived].index(request)]
                    assert (seconds(entry) - began[request]) * SECOND == pool.service(arrival)
                    ended.add(request)
        assert len(arrived) == len(began) == len(ended) == len(arrivals)
        kinds = {Complete: 0, Arrive: 1, Dispatch: 2}
        order = [(seconds(entry), kinds[type(entry.event)]) for entry in entries]
        assert order == sorted(order)
        # No server idles while somebody waits: an instant ends with all of them busy, or nobody waiting.
        for now in {time for time, _ in order}:
            waits = sum(
                {Arrive: 1, Dispatch: -1}.get(type(entry.event), 0) for entry in entries if seconds(entry) <= now
            )
            busy = sum(
                {Dispatch: 1, Complete: -1}.get(type(entry.event), 0) for entry in entries if seconds(entry) <= now
            )
            assert not waits or busy == service.servers


class TestSample:
    def test_what_comes_with_the_package_is_what_is_generated(self) -> None:
        assert sample.bundled() == sample.generate().encode()

    def test_another_seed_is_another_sample(self) -> None:
        assert sample.generate(2) == sample.generate(2) != sample.generate(1)

    def test_it_shows_what_real_requests_show(self) -> None:
        arrivals = imported("servegen", sample.generate()).arrivals
        sent = Counter(arrival.user for arrival in arrivals)
        outputs = sorted(arrival.output_tokens for arrival in arrivals)
        assert len(sent) == len(sample.CUSTOMERS) == 12
        assert 500 <= len(arrivals) <= 1_500
        assert sent["flood"] > len(arrivals) / 4
        assert outputs[-1] > 50 * outputs[len(outputs) // 2], "a heavy tail"
        returns = [arrival.time / SECOND for arrival in arrivals if arrival.user == "returns"]
        assert max(later - earlier for earlier, later in pairwise(returns)) > 300, "idle"

    def test_it_is_congested_and_drains(self) -> None:
        service = Service(imported("servegen", sample.generate()).arrivals)
        assert sum(isinstance(entry.event, Dispatch) for entry in service.script()) == len(service.arrivals)
        assert service.congestion.longest > 100
        assert 0.3 < service.congestion.congested / service.congestion.elapsed < 0.9


def compare(imported: Imported) -> tuple[Service, list[str]]:
    """The script, run by the machine and by an independent scheduler: the same dispatches."""
    service = Service(imported.arrivals)
    lines = b"".join(map(encode, service.script()))
    ours = run(read(io.BytesIO(lines)), MachineScheduler())
    theirs = run(read(io.BytesIO(lines)), load("schedulers.linear_scan:LinearScan")())
    dispatched = []
    for left, right in zip(ours, theirs, strict=True):
        assert left == right
        if isinstance(left.event, Dispatch):
            assert isinstance(left.answer.dispatched, str)
            dispatched.append(left.answer.dispatched)
    return service, dispatched


Reader = Callable[[str, str], Imported]


@pytest.fixture
def real(shared_data: Path) -> Reader:
    def reading(format: str, name: str) -> Imported:
        with (shared_data / name).open("rb") as stream:
            return FORMATS[format](stream)

    return reading


class TestRealFiles:
    @pytest.mark.parametrize(
        ("name", "requests", "users"),
        [
            ("r1_sample_t0_x0.1_seed1", 6_950, 24),
            ("r1_sample_t36000_x0.1_seed1", 4_669, 26),
            ("r1_sample_t72000_x0.1_seed1", 7_145, 35),
        ],
    )
    def test_servegen(self, real: Reader, name: str, requests: int, users: int) -> None:
        service, dispatched = compare(real("servegen", f"servegen/{name}.csv"))
        assert len(dispatched) == len(set(dispatched)) == requests
        assert len({request.rpartition("-")[0] for request in dispatched}) == users
        assert 0.5 < service.congestion.congested / service.congestion.elapsed < 0.95

    def test_azure(self, real: Reader) -> None:
        imported = real("azure", "azure2023/AzureLLMInferenceTrace_conv.csv")
        _, dispatched = compare(Imported(imported.arrivals[:5_000]))
        assert dispatched == [f"azure-{number}" for number in range(1, 5_001)], "one flow is first in, first out"
        assert len(imported.arrivals) == 19_366
        assert imported.arrivals[-1].time == 3_501_721_937

    @pytest.mark.integration
    def test_azure_dealt_out(self, real: Reader) -> None:
        imported = azure.deal(real("azure", "azure2023/AzureLLMInferenceTrace_code.csv"), 20)
        _, dispatched = compare(imported)
        assert len(dispatched) == len(set(dispatched)) == 8_819

    @pytest.mark.parametrize(
        ("name", "requests", "users"), [("conversation_trace", 12_031, 7_373), ("synthetic_trace", 3_993, 2_211)]
    )
    def test_mooncake(self, real: Reader, name: str, requests: int, users: int) -> None:
        imported = real("mooncake", f"mooncake_fast25/{name}.jsonl")
        assert len(imported.arrivals) == requests
        assert len({arrival.user for arrival in imported.arrivals}) == users
        _, dispatched = compare(Imported(imported.arrivals[:600]))
        assert len(dispatched) == 600

    @pytest.mark.integration
    @pytest.mark.parametrize(
        ("name", "accepted", "rejected", "users"),
        [("real_RPM10", 900, 600, 27), ("real_VTC", 1_500, 0, 27), ("overload_FCFS", 2_700, 0, 2)],
    )
    def test_vtc(self, real: Reader, name: str, accepted: int, rejected: int, users: int) -> None:
        imported = real("vtc", f"vtc_artifact/{name}.csv")
        assert (len(imported.arrivals), imported.left_out) == (accepted, rejected)
        assert len({arrival.user for arrival in imported.arrivals}) == users
        _, dispatched = compare(imported)
        assert len(dispatched) == accepted

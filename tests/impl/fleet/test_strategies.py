"""Which server gets a request: room, load, what is remembered of prompts, and how much that is worth."""

from __future__ import annotations

import asyncio
import gc
import heapq
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_impl.fleet import placement
from sfq_impl.fleet.dispatcher import Dispatcher
from sfq_impl.fleet.placement import Placement, Server, State, Strategy
from sfq_impl.fleet.request import Request
from sfq_impl.fleet.strategies import BLOCK, LeastLoaded, PrefixAffine, load_with, prompt_blocks
from sfq_spec.importers import mooncake

STATES: tuple[State, ...] = ("up", "up", "up", "up", "down", "draining")
FACTORS = (1.0, 1.25, 2.0, 100.0)


def asks(prefix: Iterable[str] = (), tokens: int = 0, name: str = "r") -> Request:
    return Request(name, "A", 1, tokens, tuple(prefix))


def chain(rng: random.Random) -> tuple[str, ...]:
    """Blocks of a prompt: the name of each holds all that comes before it."""
    letters = "".join(rng.choice("ab") for _ in range(rng.randrange(6)))
    return tuple(letters[: end + 1] for end in range(len(letters)))


def fill(server: Server, requests: int, tokens: int) -> Server:
    """The server with requests of so many tokens on it, as far as there is room; then down or draining as it was."""
    state, server.state = server.state, "up"
    for number in range(requests):
        if server.has_room(request := asks(tokens=tokens, name=f"old-{number}")):
            server.take(request)
    server.state = state
    return server


def fleet_of(seed: int) -> list[Server]:
    """Servers of any size and state, with something on them; half of them have room."""
    rng, servers = random.Random(seed), list[Server]()
    for number in range(rng.randint(1, 5)):
        most_tokens = rng.choice([None, rng.randint(1, 60)])
        server = Server(f"s{number}", rng.randint(0, 6), most_tokens, rng.choice(STATES))
        servers.append(fill(server, rng.randint(0, 4), rng.randint(0, 20)))
    return servers


def fleets() -> st.SearchStrategy[list[Server]]:
    return st.integers(0, 10**9).map(fleet_of)


def misplaced(strategy: Strategy, servers: Sequence[Server], seed: int, kind: type[Placement] = Placement) -> str:
    """What is wrong with where some requests go; empty if nothing is."""
    rng, fleet = random.Random(seed), kind(servers, strategy)
    for number in range(12):
        request = asks(chain(rng), rng.randrange(20), f"new-{number}")
        room = [server for server in servers if server.has_room(request)]
        server = fleet.place(request)
        if server is None:
            if room:
                return f"{request.id} goes nowhere, and {room[0].name} has room"
            continue
        if server not in room:
            return f"{server.name} has no room for {request.id}"
        least = min(load_with(other, request) for other in room)
        if isinstance(strategy, PrefixAffine) and load_with(server, request) > strategy.factor * least:
            return f"{server.name} is too full: {load_with(server, request)} instead of {least}"
        server.take(request)
        if rng.random() < 0.3:
            old = rng.choice([server for server in servers if server.held])
            old.release(rng.choice(list(old.held.values())))
    return ""


@pytest.mark.parametrize("strategy", [LeastLoaded, PrefixAffine])
@given(servers=fleets(), seed=st.integers(0, 1_000))
def test_no_request_goes_where_there_is_no_room(strategy: type[Strategy], servers: list[Server], seed: int) -> None:
    assert misplaced(strategy(), servers, seed) == ""


@given(servers=fleets(), seed=st.integers(0, 1_000), factor=st.sampled_from(FACTORS))
def test_affinity_never_overloads_a_server(servers: list[Server], seed: int, factor: float) -> None:
    assert misplaced(PrefixAffine(factor, blocks=5), servers, seed) == ""


class Anywhere(Placement):
    """Asks the strategy about servers without room too."""

    def place(self, request: Request) -> Server | None:
        return self.strategy.choose(request, list(self.servers.values()))


class OnlyPrefix(PrefixAffine):
    """Looks at no load."""

    def choose(self, request: Request, servers: Sequence[Server]) -> Server:
        factor, self.factor = self.factor, 1e9
        try:
            return super().choose(request, servers)
        finally:
            self.factor = factor


def test_a_request_without_room_and_an_overloaded_server_are_found() -> None:
    def servers() -> list[Server]:
        return [Server("s0", 6), Server("s1", 6), Server("s2", 1, 8)]

    assert "has no room" in "".join(misplaced(LeastLoaded(), servers(), seed, Anywhere) for seed in range(20))
    assert "is too full" in "".join(misplaced(OnlyPrefix(2), servers(), seed) for seed in range(20))
    assert "".join(misplaced(PrefixAffine(2), servers(), seed) for seed in range(20)) == ""


@given(servers=fleets(), tokens=st.integers(0, 20))
def test_the_load_with_a_request_is_the_load_once_it_is_there(servers: list[Server], tokens: int) -> None:
    request = asks(tokens=tokens)
    for server in (server for server in servers if server.has_room(request)):
        expected = load_with(server, request)
        server.take(request)
        assert server.load == expected


@pytest.mark.parametrize("strategy", [LeastLoaded, PrefixAffine])
@given(seed=st.integers(0, 1_000), order=st.permutations(range(4)))
def test_the_order_in_which_servers_are_named_makes_no_difference(
    strategy: type[LeastLoaded | PrefixAffine], seed: int, order: list[int]
) -> None:
    def run(order: Sequence[int]) -> list[str]:
        rng = random.Random(seed)
        servers = [Server(f"s{number}", 4) for number in range(4)]
        chooser, went = strategy(), []
        for number in range(16):
            request = asks(chain(rng), name=f"new-{number}")
            server = chooser.choose(request, [servers[place] for place in order if servers[place].has_room(request)])
            server.take(request)
            went.append(server.name)
        return went

    assert run(order) == run(range(4))


def test_of_equals_it_is_the_emptier_then_the_one_of_least_name() -> None:
    a, b, c = (Server(name, 4) for name in "abc")
    strategy = PrefixAffine()
    assert strategy.choose(asks("x"), [c, b]) is b
    assert strategy.choose(asks("x"), [c, b, a]) is b
    a.take(asks(name="other"))
    assert strategy.choose(asks(), [a, b, c]) is b
    assert strategy.choose(asks(["x", "y"]), [a, b, c]) is b
    b.take(asks(name="one"))
    b.take(asks(name="two"))
    assert strategy.choose(asks(["x", "y"]), [a, b, c]) is c, "b would be three times as full as c"


@given(seed=st.integers(0, 10_000), most=st.integers(1, 12))
def test_what_is_remembered_is_bounded_and_loses_the_ends_of_prompts_first(seed: int, most: int) -> None:
    rng, server, strategy = random.Random(seed), Server("s", 9), PrefixAffine(blocks=most)
    for _ in range(30):
        request = asks(chain(rng))
        strategy.choose(request, [server])
        remembered = strategy._remembered[server]
        assert len(remembered) <= most
        assert all(block[:-1] in remembered for block in remembered if len(block) > 1)
        assert strategy.known(request, server) == min(len(request.prefix), most)


@given(seed=st.integers(0, 10_000))
def test_the_longest_known_prefix_is_that_of_all_prompts_before(seed: int) -> None:
    rng, servers, strategy = random.Random(seed), [Server(name, 9) for name in "ab"], PrefixAffine(factor=100)
    seen: dict[Server, set[str]] = {server: set() for server in servers}
    for _ in range(30):
        request = asks(chain(rng))
        known = {server: sum(block in blocks for block in request.prefix) for server, blocks in seen.items()}
        assert known == {server: strategy.known(request, server) for server in servers}
        assert max(known.values()) == strategy.known_somewhere(request.prefix)
        chosen = strategy.choose(request, servers)
        assert known[chosen] == max(known.values())
        seen[chosen].update(request.prefix)


def test_a_server_that_starts_anew_or_is_dropped_is_forgotten() -> None:
    strategy, server = PrefixAffine(), Server("s", 2)
    strategy.choose(asks("xy"), [server])
    assert strategy.known(asks("xyz"), server) == 2
    strategy.forget(server)
    strategy.forget(server)
    assert strategy.known(asks("xyz"), server) == 0
    strategy.choose(asks("xy"), [server])
    del server
    gc.collect()
    assert len(strategy._remembered) == 0


@pytest.mark.parametrize(
    ("factor", "blocks", "named"), [(0.9, 1, "factor"), (float("nan"), 1, "factor"), (1, 0, "blo")]
)
def test_a_strategy_without_sense_is_refused(factor: float, blocks: int, named: str) -> None:
    with pytest.raises(ValueError, match=f"`{named}"):
        PrefixAffine(factor, blocks)


def test_the_name_of_the_strategy_that_is_the_default_stays_where_it_was() -> None:
    assert placement.LeastLoaded is LeastLoaded
    assert isinstance(Placement([]).strategy, LeastLoaded)


def test_the_dispatcher_sends_a_conversation_where_it_was_before() -> None:
    async def main() -> list[str]:
        dispatcher = Dispatcher(Placement([Server("a", 4), Server("b", 4)], PrefixAffine()))
        went = []
        text = "x" * BLOCK
        async with dispatcher.slot("other", 1):
            for turn in range(3):
                text += str(turn) * BLOCK
                async with dispatcher.slot("A", 1, prefix=prompt_blocks(text)) as slot:
                    went.append(slot.server.name)
                    await asyncio.sleep(0)
        return went

    assert asyncio.run(main()) == ["b", "b", "b"]


texts = st.text("ab", max_size=3).map(lambda text: text * BLOCK)


@given(start=texts, one=texts, other=texts, rest=st.integers(0, BLOCK - 1))
def test_texts_have_as_many_names_in_common_as_whole_blocks(start: str, one: str, other: str, rest: int) -> None:
    names = [prompt_blocks(start + end + "c" * rest) for end in (one, other)]
    common = next((k for k in range(3 * BLOCK) if one[k : k + 1] != other[k : k + 1]), 0) if one != other else len(one)
    whole = (len(start) + common + (rest if one == other else 0)) // BLOCK
    assert [len(found) for found in names] == [(len(start) + len(end) + rest) // BLOCK for end in (one, other)]
    assert sum(a == b for a, b in zip(*names, strict=False)) == whole
    assert not set(names[0][whole:]) & set(names[1][whole:])


def test_names_are_bounded_and_are_those_of_one_model() -> None:
    text = "ä" * BLOCK
    assert prompt_blocks(text) == prompt_blocks(text.encode())
    assert len(prompt_blocks(text)) == 2
    assert len(set(prompt_blocks(text)) | set(prompt_blocks(text, "m")) | set(prompt_blocks(text, "n"))) == 6
    assert prompt_blocks(text, most=1) == prompt_blocks(text)[:1]
    assert len(prompt_blocks("x" * 1_000_000)) == 256
    assert prompt_blocks("x" * (BLOCK - 1)) == ()
    assert len(prompt_blocks("\ud800" * BLOCK)) == 3


@dataclass(frozen=True)
class Load:
    """A request of a recorded or drawn load."""

    at: float
    prefix: tuple[str, ...]
    output: int


def play(load: Iterable[Load], strategy: Strategy, blocks: int = 4_096) -> tuple[float, float]:
    """The part of blocks that were remembered where they went, and how far the fullest server was above the emptiest.

    There are eight servers of 16 rooms. A request takes 0.2 s, 26 ms for each block that its server does not remember,
    and 20 ms for each token of output.
    """
    fleet = [Server(f"s{number}", 16) for number in range(8)]
    memory = PrefixAffine(blocks=blocks)
    ends: list[tuple[float, int, Server, Request]] = []
    place, now, hit, asked, spread, count = Placement(fleet, strategy), 0.0, 0, 0, 0, 0
    for count, wanted in enumerate(load, 1):
        now, request = max(now, wanted.at), asks(wanted.prefix, name=str(count))
        while ends and ends[0][0] <= now:
            _, _, server, ended = heapq.heappop(ends)
            server.release(ended)
        while (chosen := place.place(request)) is None:
            now, _, server, ended = heapq.heappop(ends)
            server.release(ended)
        known = memory.known(request, chosen)
        memory.choose(request, [chosen])
        hit, asked = hit + known, asked + len(wanted.prefix)
        chosen.take(request)
        time = 0.2 + 0.0256 * (len(wanted.prefix) - known) + wanted.output / 50
        heapq.heappush(ends, (now + time, count, chosen, request))
        held = [len(server.held) for server in fleet]
        spread += max(held) - min(held)
    return hit / asked, spread / count


def conversations(seed: int) -> Iterable[Load]:
    """200 conversations with one of 20 system prompts of 4 blocks, each of up to 12 turns of 2 blocks."""
    rng = random.Random(seed)
    turns: list[tuple[float, int]] = []
    for talk in range(200):
        at = rng.uniform(0, 300)
        turns += [(at + 30 * turn + rng.uniform(0, 20), talk) for turn in range(rng.randint(1, 12))]
    prompts: dict[int, list[str]] = {}
    for at, talk in sorted(turns):
        blocks = prompts.setdefault(talk, [f"system {talk % 20} {block}" for block in range(4)])
        blocks += [f"{talk}: {len(blocks)}", f"{talk}: {len(blocks) + 1}"]
        yield Load(at, tuple(blocks), rng.randint(20, 400))


@pytest.mark.parametrize("seed", range(3))
def test_affinity_finds_half_as_much_again_and_keeps_the_servers_about_even(seed: int) -> None:
    hit, spread = play(conversations(seed), LeastLoaded())
    affine_hit, affine_spread = play(conversations(seed), PrefixAffine())
    assert affine_hit > 1.5 * hit > 0
    assert affine_spread < spread + 2
    assert play(conversations(seed), OnlyPrefix())[1] > affine_spread, "without the limit they are less even"


FACTORS_TOLD = (None, 1.25, 1.5, 2, 4, 1e9)
"""The columns of the table in the description of `PrefixAffine`; None: least loaded."""


@pytest.mark.integration
@pytest.mark.parametrize(("name", "blocks"), [("1,000", 1_000), ("4,096", 4_096), ("all", 10**9)])
def test_recorded_conversations_are_found_as_often_as_is_told(shared_data: Path, name: str, blocks: int) -> None:
    with (shared_data / "mooncake_fast25/conversation_trace.jsonl").open("rb") as stream:
        arrivals = mooncake.read(stream).arrivals
    load = [Load(a.time / 1e6, tuple(map(str, a.prefix)), a.output_tokens) for a in arrivals]
    cells = []
    for factor in FACTORS_TOLD:
        strategy = LeastLoaded() if factor is None else PrefixAffine(factor, blocks)
        hit, spread = play(load, strategy, blocks=blocks)
        cells.append(f"{100 * hit:.0f} % ({spread:.1f})")
    assert [name, *cells] in [re.split(r"  +", line.strip()) for line in (PrefixAffine.__doc__ or "").splitlines()]


def test_the_most_that_any_server_knows_of_a_prompt() -> None:
    a, b, strategy = Server("a", 2), Server("b", 2), PrefixAffine()
    assert strategy.known_somewhere(["x"]) == 0
    strategy.choose(asks(["x"]), [a])
    strategy.choose(asks(["x", "xy"]), [b])
    assert [strategy.known_somewhere(prefix) for prefix in (["x", "xy", "xyz"], ["z"], [])] == [2, 0, 0]
    strategy.forget(b)
    assert strategy.known_somewhere(["x", "xy"]) == 1

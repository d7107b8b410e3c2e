"""Who is held because nothing has room for its next request, and whom a room that becomes free lets go."""

from __future__ import annotations

from random import Random

import pytest

from sfq_impl.fleet.holding import SLACK, Held
from sfq_impl.fleet.request import Request


@pytest.mark.parametrize("seed", range(20))
def test_room_lets_go_all_whom_it_fits_and_nobody_else(seed: int) -> None:
    """Also after many have been held and dropped, so that what is known of their sizes has been made anew."""
    rng, held, sizes = Random(seed), Held(), dict[str, int]()
    for number in range(20 * SLACK):
        user = f"user-{rng.randrange(30)}"
        if user in sizes and rng.random() < 0.7:
            held.drop(user)
            del sizes[user]
        elif user not in sizes:
            sizes[user] = rng.randrange(1, 1_000)
            held.hold(Request(f"request-{number}", user, 1, tokens=sizes[user]))
        if rng.random() < 0.01:
            room = rng.randrange(1_000)
            assert set(held.release(room)) == {user for user, size in sizes.items() if size <= room}
            sizes = {user: size for user, size in sizes.items() if size > room}
        assert held.users == tuple(sorted(sizes))
    assert len(held._by_size) <= 2 * len(sizes) + SLACK

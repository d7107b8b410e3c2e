"""Which of the servers that have room gets a request: the emptiest, or the one that remembers most of its prompt.

A prompt is told as its blocks, first to last, and the name of each block stands for all that comes before it too: that
is what `prompt_blocks` makes of a text. What a server remembers is guessed from what it was sent; nobody asks it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from sfq_impl.fleet.placement import Server
    from sfq_impl.fleet.request import Request

BLOCK = 1_024
"""Bytes of text in one block."""
LONGEST_PREFIX = 256
"""Blocks of a prompt that are told apart, so that what waits is bounded; what comes after them counts for nothing."""


class LeastLoaded:
    """The emptiest; of equals the one of least name."""

    def choose(self, request: Request, servers: Sequence[Server]) -> Server:
        """One of them."""
        return min(servers, key=lambda server: (server.load, server.name))


class PrefixAffine:
    """The server that remembers the longest prefix of the prompt, unless it is much fuller than the emptiest.

    Of the servers with room, those come into question that the request would fill to at most `factor` times what it
    would fill the emptiest to (`load_with`). Of these it is the one that knows most blocks from the first on; of equals
    the emptier one; of equals the one of least name. So the load that it makes is never above `factor` times the least
    that was possible, and with `factor` 1 it only breaks ties.

    For each server the `blocks` that were used last are remembered; a prompt's last blocks go first. It should be about
    what fits in the server's cache: tokens · 4 / 1,024, for text.

    Part of all blocks that were found remembered, in conversations recorded by Mooncake (blocks of 512 tokens, eight
    servers of 16 rooms each), and how far the fullest server was above the emptiest, on average, in requests:

        blocks a server   least loaded   factor 1.25   1.5          2            4            no limit
        1,000             6 % (1.3)      13 % (1.4)    16 % (1.5)   17 % (1.7)   17 % (1.7)   8 % (8.2)
        4,096             10 % (1.3)     23 % (1.5)    29 % (1.8)   33 % (2.1)   33 % (2.2)   25 % (8.4)
        all               13 % (1.3)     26 % (1.5)    32 % (1.8)   35 % (2.1)   37 % (2.3)   37 % (8.5)
    """

    def __init__(self, factor: float = 2.0, blocks: int = 4_096) -> None:
        """Raises `ValueError` for a factor below 1 or less than one block."""
        if not factor >= 1:
            raise ValueError(f"`factor` is {factor!r}: it must be 1 or more, as some server has to come into question")
        if blocks < 1:
            raise ValueError(f"`blocks` is {blocks!r}: it must be 1 or more")
        self.factor = factor
        self.blocks = blocks
        self._remembered: WeakKeyDictionary[Server, OrderedDict[str, None]] = WeakKeyDictionary()
        """The blocks of each server, the one used longest ago first. A server that is dropped takes them along."""

    def choose(self, request: Request, servers: Sequence[Server]) -> Server:
        """One of them; the request's blocks count as remembered there from now on."""
        loads = {server: load_with(server, request) for server in servers}
        most = self.factor * min(loads.values())
        calm = [server for server in servers if loads[server] <= most]
        chosen = min(calm, key=lambda server: (-self.known(request, server), loads[server], server.name))
        self._remember(request, chosen)
        return chosen

    def known(self, request: Request, server: Server) -> int:
        """How many blocks of the request's prompt the server is taken to remember, from the first on."""
        return _known(request.prefix, self._remembered.get(server, ()))

    def known_somewhere(self, prefix: Sequence[str]) -> int:
        """How many blocks of a prompt some server is taken to remember, from the first on."""
        return max((_known(prefix, remembered) for remembered in self._remembered.values()), default=0)

    def forget(self, server: Server) -> None:
        """The server has started anew: it remembers nothing."""
        self._remembered.pop(server, None)

    def _remember(self, request: Request, server: Server) -> None:
        remembered = self._remembered.setdefault(server, OrderedDict())
        for block in reversed(request.prefix):
            remembered[block] = None
            remembered.move_to_end(block)
        while len(remembered) > self.blocks:
            remembered.popitem(last=False)


def _known(prefix: Sequence[str], remembered: Container[str]) -> int:
    for place, block in enumerate(prefix):
        if block not in remembered:
            return place
    return len(prefix)


def load_with(server: Server, request: Request) -> float:
    """What the server's load would be with the request, as `Server.load` tells it without."""
    requests = (len(server.held) + 1) / server.most_requests
    return max(requests, (server.tokens + request.tokens) / server.most_tokens) if server.most_tokens else requests


def prompt_blocks(text: str | bytes, among: str = "", most: int = LONGEST_PREFIX) -> tuple[str, ...]:
    """The names of the first blocks of a prompt, at most so many; what is left of a last, incomplete block has none.

    Two texts have as many names in common as whole blocks at their beginning. Texts of different models have none in
    common: `among` is the model. The names tell nothing of the text to whoever does not have it.
    """
    whole = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    digest = blake2b(blake2b(among.encode("utf-8", "surrogatepass")).digest(), digest_size=16)
    names = []
    for end in range(BLOCK, min(len(whole), most * BLOCK) + 1, BLOCK):
        digest.update(whole[end - BLOCK : end])
        names.append(digest.hexdigest())
    return tuple(names)

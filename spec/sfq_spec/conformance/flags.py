"""The kinds of fault: what they are, what they do to users, and where they have been seen in public."""

from __future__ import annotations

from sfq_spec.conformance.case import Flag
from sfq_spec.mutants import MUTANTS

SEEN: dict[str, tuple[str, ...]] = {
    "FrozenPriority": ("volcano-sh/kthena #265",),
    "CancelledStays": ("BerriAI/litellm #20866", "BerriAI/litellm #20059", "ai-dynamo/dynamo #12156"),
    "RefundsOnCompletion": ("kubernetes/kubernetes #112169",),
    "BankWhileIdle": ("kubernetes/kubernetes #95979",),
    "RebaseWraps": ("tikv/tikv #14507",),
    "ForgetsDebtors": ("cockroachdb/cockroach #72485",),
    "ZeroWeight": ("scylladb/seastar 80330bb33",),
    "WholeCharges": ("scylladb/seastar pop_front", "sfqd.c"),
    "WrongUserRemoved": ("scylladb/seastar #1899",),
    "RejoinAtZero": ("NetSys/bess #717",),
    "ClockAtFinish": ("Linux 3fe69747",),
    "WeightRescalesHistory": ("asterinas/asterinas #2208", "asterinas/asterinas #2235"),
    "ActivatedTwice": ("ClickHouse/ClickHouse #99233",),
    "CancelSkipsReset": ("ClickHouse FairPolicy, by reading",),
    "ChargeAndClockApart": ("sched-ext/scx #2978",),
    "ChargesAnEmptyDispatch": ("kubernetes-sigs/gateway-api-inference-extension #2822",),
    "FloorsCosts": ("llm-d/llm-d-router #1222",),
    "HoldsHeavyHeads": ("vllm-project/vllm #40004", "vllm-project/vllm #33499"),
    "KeepsEveryUser": ("llm-d/llm-d-router #707", "volcano-sh/kthena #1613"),
    "ReleasesTwice": ("llm-d/llm-d-router #2382", "llm-d/llm-d-router #1739"),
    "TiesByInsertion": ("nghttp-style sets", "grpc/grpc-go #3793"),
    "LastIdFirst": ("nghttp-style sets", "grpc/grpc-go #3793"),
    "ChargesOnCompletion": ("llm-d/llm-d-router, program-aware policy",),
}
"""Public reports of each kind."""

OTHERS: dict[str, tuple[str, str]] = {
    "FrozenPriority": (
        "The place of a request is fixed when it arrives.",
        "Whoever came first with many requests goes before all others, whatever they have had.",
    ),
    "CancelledStays": (
        "A request that was cancelled while it waited stays in the queue.",
        "Room is given to clients that have gone, and what is behind waits for nothing.",
    ),
    "RebaseWraps": (
        "Subtracting one constant from the meters wraps or clamps below zero.",
        "A user's meter becomes huge, and it starves; or it becomes zero, and it takes everything.",
    ),
    "ZeroWeight": (
        "A weight of zero is accepted.",
        "Meters become infinite or not a number, and the order is undefined from then on.",
    ),
    "WrongUserRemoved": (
        "The entry that is taken out of the heap is another user's.",
        "One user is never selected again; another is selected without a request.",
    ),
    "ActivatedTwice": (
        "A user that already waits is entered again.",
        "It is selected twice as often, or is selected with nothing left.",
    ),
    "ChargeAndClockApart": (
        "The charge and virtual time are changed at different moments, such as dispatch and completion.",
        "Who joins in between starts too early and takes room from the others, or too late and waits.",
    ),
    "ChargesAnEmptyDispatch": (
        "A selection is charged although nothing is sent.",
        "A user pays for what it has not had whenever there is room and nothing to send.",
    ),
    "FloorsCosts": (
        "A cost of zero, of less, or of a part of one is taken for one.",
        "Mistakes of the caller stay hidden; users of small requests pay too much.",
    ),
    "ForgetsWeights": (
        "Upkeep forgets the weights of users that do not wait.",
        "A user comes back with a share of one, whatever it has been given.",
    ),
    "JoinsBeforeItRefuses": (
        "An arrival that is refused for its cost has let its user join already.",
        "Mistakes of a client move its place: it waits longer, or, with a cost that is no number, for ever.",
    ),
    "KeepsEveryUser": (
        "There is a record for every user that was ever seen, or the wrong ones are dropped.",
        "Memory grows with ids that callers choose; or the order depends on who was dropped.",
    ),
    "ReleasesTwice": (
        "Two paths release the same request, such as a cancel and a time-out.",
        "A counter falls below zero and wraps, or somebody else's request is released.",
    ),
    "StalePlace": (
        "The entry of a user that left by a cancel stays in the heap, and counts again when it comes back.",
        "It is selected once more than it should be, by a meter that it has no longer.",
    ),
    "TiesByInsertion": (
        "A tie goes by insertion, by address, or at random.",
        "Equal users are not served in turn, and runs cannot be repeated.",
    ),
    "LargeNumbers": (
        "Meters lose digits, overflow, or wrap at the limits of a machine number.",
        "Charges vanish: one user is first for ever; or the order jumps when a limit is passed.",
    ),
    "ManyUsers": (
        "The structure that holds the users is wrong at sizes that small tests do not reach.",
        "Some users are served too early and others too late, only under load.",
    ),
    "QueueLinks": (
        "A cancel leaves a pointer or a count of the queue as it was: its end, its beginning, or a link back.",
        "The next request is lost, one that was cancelled is sent, or those behind it go with it.",
    ),
    "HeapPlaces": (
        "Where a user leaves the heap, what takes its place is moved one way only, or its new place is not noted.",
        "Users are selected out of turn, or never again, once somebody has left while many wait.",
    ),
    "IdsUsedAgain": (
        "Something is still known of an id that is free: its cost, its user, or that it was cancelled.",
        "A new request is refused, lost, or charged as an old one; or another one is taken for it.",
    ),
    "NotedTooEarly": (
        "The charge, or what it is made of, is noted before the dispatch and not changed afterwards.",
        "A new cost or weight counts late or never; or a request is charged as the one before it.",
    ),
    "IdsByBytes": (
        "User ids are compared by UTF-16 units, by locale, or without case.",
        "Ties fall differently in different processes: runs cannot be repeated.",
    ),
}
"""Kinds that are not a mutant's: what it is, and its effect."""


def name(mutant: str) -> str:
    """The flag of a mutant: `reset-on-return` is `ResetOnReturn`."""
    return "".join(part.capitalize() for part in mutant.split("-"))


def flags() -> dict[str, Flag]:
    """Every flag, by name."""
    made = {flag: Flag(kind, effect, SEEN.get(flag, ())) for flag, (kind, effect) in OTHERS.items()}
    for mutant in MUTANTS:
        kind, _, effect = mutant.mistake.partition(": ")
        flag = name(mutant.name)
        made[flag] = Flag(f"{kind.rstrip('.')}.", _sentence(effect or kind), SEEN.get(flag, ()))
    return dict(sorted(made.items()))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

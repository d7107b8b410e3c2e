"""Everything that is put to the solvers, and everything that is searched through."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sfq_proofs.finding import Finding, Search
from sfq_proofs.fleet import costs, simulated
from sfq_proofs.related import las_beside, las_hooks, las_rules, las_runs, las_tables
from sfq_proofs.scheduler import implementation, memory, simulation
from sfq_proofs.searches import apart, constructions, exhaust, refutations, speed
from sfq_proofs.searches.exhaust import Instance
from sfq_proofs.searches.witness import in_short
from sfq_proofs.solver.induction import Obligation
from sfq_proofs.solver.model import Model
from sfq_proofs.theorems import (
    band,
    batch,
    cycles,
    fairness,
    floats,
    folding,
    granularity,
    keeping,
    order,
    placement,
    repaired,
    replica,
    rounded,
    rules,
    stride,
)
from sfq_spec.competition import SFQ, Rules
from sfq_spec.mutants import BY_NAME


def obligations(of: Rules = SFQ) -> list[Obligation]:
    """Every obligation, for the rules of the article or for those of a mutant."""
    model = Model(of)
    return [
        *band.obligations(model),
        *fairness.obligations(model),
        *rules.obligations(model),
        *folding.obligations(of),
        *((*simulation.obligations(), *memory.obligations()) if of is SFQ else ()),
        *order.obligations(of),
        *keeping.obligations(of),
        *batch.obligations(of),
        *stride.obligations(of),
        *replica.obligations(of),
        *placement.stalling(of),
        *(placement.overtaking() if of is SFQ else ()),  # its own mutants are among the constructions
        *(_with_variants_of_their_own() if of is SFQ else ()),
    ]


def _with_variants_of_their_own() -> Iterator[Obligation]:
    """What is told from wrong variants by the searches below, and not by the mutants of the rules."""
    yield from floats.obligations()
    yield from rounded.obligations()
    yield from cycles.obligations()
    yield from granularity.obligations()
    yield from repaired.obligations()
    yield from las_rules.obligations()


INSTANCES = (
    Instance(2, (1, 2, 3)),
    Instance(2, (1, 3), (1, 2)),
    Instance(3, (1, 2, 3)),
    Instance(4, (1, 2)),
)
"""The small worlds that are searched through completely."""


def searches() -> list[Search]:
    """Every search, in order."""
    return [
        *(Search(f"exhaust {_shown(instance)}", SEARCHED, partial(_exhaust, instance)) for instance in INSTANCES),
        *(Search(check.name, (check.claim,), partial(_checked, check)) for check in implementation.CHECKS),
        *constructions.searches(),
        Search("floats, bit by bit", floats.CLAIMS, floats.findings),
        Search("rounded sums", rounded.CLAIMS, rounded.findings),
        Search("turns", cycles.CLAIMS, cycles.findings),
        Search("all orders", granularity.CLAIMS, granularity.findings),
        Search("apart", apart.CLAIMS, apart.findings),
        Search("repaired", repaired.CLAIMS, repaired.findings),
        Search("errata", refutations.CLAIMS, refutations.findings),
        Search("completions left out", ("ORDER-SPEED",), speed.findings),
        Search("fleet, simulated", simulated.CLAIMS, simulated.findings),
        Search("costs, learnt", ("COST-OUTSIDE",), costs.findings),
        Search("least attained service, wrong statements", las_rules.CLAIMS, las_rules.findings),
        Search("least attained service, all tables", las_tables.CLAIMS, las_tables.findings),
        Search("least attained service, all runs", las_runs.CLAIMS, las_runs.findings),
        Search("least attained service, all hooks", ("LAS-FLIGHT",), las_hooks.findings),
        Search("least attained service, beside the model", ("LAS-PLUGIN",), las_beside.findings),
    ]


def _checked(check: implementation.Check) -> list[Finding]:
    shown = check.run()
    return [Finding(check.name, (check.claim,), shown.holds, shown.says, shown.refuted)]


def _shown(instance: Instance) -> str:
    weights = f", weights {', '.join(map(str, instance.weights))}" if instance.weights else ""
    return f"{instance.users} users, costs {', '.join(map(str, instance.costs))}{weights}"


def _exhaust(instance: Instance) -> list[Finding]:
    graph = exhaust.graph(instance)
    pairs = [(i, j) for i in range(instance.users) for j in range(instance.users) if i != j]
    monitored = [exhaust.monitor(graph, i, j) for i, j in pairs]
    name, states = _shown(instance), sum(found.states for found in monitored)
    widest = max(monitored, key=lambda found: found.worst)
    bound = instance.bound(*widest.pair)
    run = " ".join(map(in_short, exhaust.events(instance, widest.widest)))
    loose = not is_tight(instance, BY_NAME[LOOSE].rules or SFQ)
    return [
        Finding(name, STATE_CLAIMS, not graph.broken, f"{len(graph.edges):,} states, no claim broken"),
        Finding(
            name,
            ("FAIR-LEAD", "FAIR-PAIR"),
            not any(found.violation for found in monitored),
            f"{len(pairs)} ordered pairs, {states:,} states with a monitor, no bound passed",
        ),
        Finding(
            name,
            ("FAIR-TIGHT",),
            widest.tight and widest.worst == bound and loose,
            f"worst lead {widest.worst:g} of at most {float(bound):g}, attained by {run}",
            (LOOSE,) if loose else (),
        ),
    ]


STATE_CLAIMS = (
    "INV-MONO", "INV-UPPER", "INV-LOWER", "RESET-LEVEL", "RESET-ALONE", "RESET-OWN",
    "IDLE-FLOOR", "IDLE-PROMPT", "DISP-BEFORE", "R-SELECT",
)  # fmt: skip
"""What is checked at every state and step of an instance."""

SEARCHED = (*STATE_CLAIMS, "FAIR-LEAD", "FAIR-PAIR", "FAIR-TIGHT")
"""What the search of an instance speaks of."""


LOOSE = "join-behind-everyone"
"""A mutant under which the bound is not attained, so that FAIR-TIGHT can fail."""


def is_tight(instance: Instance, of: Rules = SFQ) -> bool:
    """Whether the first user's lead over the second attains its bound under these rules (FAIR-TIGHT)."""
    found = exhaust.monitor(exhaust.graph(instance, of), 0, 1)
    return found.tight and bool(found.worst == instance.bound(0, 1))

"""A page in one file: nothing in it is loaded from elsewhere, and nothing runs; light and dark, on screen and paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sfq_spec.table import shown

STYLE = """\
:root { color-scheme: light dark; --ink: #1d2129; --dim: #636975; --paper: #fff; --line: #dfe2e8; --span: #f0d9a8;
  --soft: #f4f5f8; --band: #dce9f8; --good: #24793f; --bad: #bf3325; --open: #95690c; --fault: #fbe3df; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6eb; --dim: #9aa1ad; --paper: #16181d; --line: #343842; --span: #5a4a20;
    --soft: #1f222a; --band: #223450; --good: #5cc483; --bad: #ff8474; --open: #e0b14b; --fault: #47251f; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.about { color: var(--dim); margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: .3rem 1rem; } dt { color: var(--dim); }
dd { margin: 0; } .conforms { color: var(--good); font-weight: 600; }
.does-not-conform { color: var(--bad); font-weight: 600; } .no-verdict { color: var(--open); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem; border-bottom: 1px solid var(--line); }
th, td { text-align: right; font-variant-numeric: tabular-nums; } th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
svg text { fill: var(--ink); } svg .grid { stroke: var(--line); } svg .axis { stroke: var(--dim); }
svg .level { stroke: var(--dim); stroke-dasharray: 5 4; } svg .span { fill: var(--span); fill-opacity: .6; }
pre { overflow-x: auto; } pre b { color: var(--bad); }
"""
"""What both reports look like."""


def document(title: str, body: Iterable[str], style: str = "") -> str:
    """The page. The title is a text; the body is HTML, and `style` what only this page looks like."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            f"<style>\n{STYLE}{style}</style></head><body>",
            *body,
            "</body></html>\n",
        ]
    )


def text(told: str) -> str:
    """HTML that shows a text as it is: markup has no effect, and what does not print is spelled out."""
    return escape("\n".join(map(shown, told.split("\n"))), quote=True)


def terms(rows: Iterable[tuple[str, str]], classes: str = "") -> str:
    """A list of names with what is said of each, in HTML."""
    items = "".join(f"<dt>{text(name)}</dt><dd>{said}</dd>" for name, said in rows)
    return f"<dl{f' class={classes!r}' if classes else ''}>{items}</dl>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], classes: str = "") -> str:
    """A table; the header is of texts, the cells are HTML. Where the window is narrow, it moves by itself."""
    head = "".join(f"<th>{text(name)}</th>" for name in header)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    made = f"<table{f' class={classes!r}' if classes else ''}><tr>{head}</tr>\n{body}</table>"
    return f'<div class="wide">{made}</div>'

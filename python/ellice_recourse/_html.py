"""Cards for notebooks: plain markup with styles of its own, no scripts, everything escaped."""

from __future__ import annotations

from html import escape
from typing import Any

MOST_CARDS = 20

_GOOD = {"optimal", "certified", "already_robust"}
_WORDS = {
    "optimal": "robust plan, none is cheaper",
    "certified": "robust plan",
    "already_robust": "robust as it is",
    "reduced": "plan for a smaller epsilon",
    "infeasible": "proved: no plan exists",
    "not_found": "no plan found",
    "uncertified": "not robust",
    "invalid": "the row cannot be read",
}
_BOX = (
    "display:inline-block;vertical-align:top;box-sizing:border-box;width:22em;max-width:100%;margin:.3em;padding:.7em .9em;"
    "border:1px solid #8886;border-left:4px solid {tone};border-radius:6px;font:14px/1.45 system-ui,sans-serif;text-align:left"
)


def cards(records: list[dict[str, Any]], total: int | None = None) -> str:
    """The cards of some records, and how many more there are."""
    body = "".join(_card(record) for record in records)
    rest = (total or len(records)) - len(records)
    if rest > 0:
        body += f'<p style="font:14px system-ui,sans-serif">and {rest} more</p>'
    return f'<div class="ellice-answers">{body or "no answers"}</div>'


def _card(record: dict[str, Any]) -> str:
    status = str(record["status"])
    tone = "#2a7" if status in _GOOD else "#c80" if status == "reduced" else "#c44"
    who = f"Row {record['query_index']}" + (f" ({record['id']})" if record.get("id") else "")
    if record.get("plan"):
        who += f", plan {int(record['plan']) + 1}"
    parts = [f"<b>{escape(who)}</b><div>{escape(_WORDS.get(status, status))}</div>"]
    if record.get("changes"):
        parts.append(_changes(record["changes"]))
    certificate = record.get("certificate")
    if certificate:
        parts.append(
            f'<div style="opacity:.75;font-size:12px">worst model: logit {certificate["robust_logit"]:.3g}'
            f" &ge; {certificate['threshold']:.3g} for every model within &epsilon; = {certificate['epsilon']:.3g}</div>"
        )
    if record.get("message"):
        parts.append(f'<div style="opacity:.75;font-size:12px">{escape(str(record["message"]))}</div>')
    return f'<div style="{_BOX.format(tone=tone)}">{"".join(parts)}</div>'


def _changes(changes: list[dict[str, Any]]) -> str:
    cell = "padding:.1em .6em .1em 0;text-align:left;border:0;background:none"
    rows = "".join(
        f'<tr style="background:none"><td style="{cell}">{escape(str(c["feature"]))}</td>'
        f'<td style="{cell}">{_value(c["from"])}</td><td style="{cell}">&rarr; <b>{_value(c["to"])}</b></td></tr>'
        for c in changes
    )
    return f'<table style="border-collapse:collapse;margin:.4em 0;border:0;font:inherit;color:inherit"><tbody>{rows}</tbody></table>'


def _value(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else escape(str(value))

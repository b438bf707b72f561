"""Figures of matplotlib. They have no background of their own, and ink that is read on white and on black."""

from __future__ import annotations

from typing import Any

_INK = "#808080"  # contrast 3.9 on white, 5.3 on black
_BLUE = "#2f7fd6"
_ORANGE = "#d9731a"


def _axes(ax: Any, width: float, height: float) -> Any:
    if ax is None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError('plots need matplotlib: pip install "ellice-recourse[plots]"') from None
        figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
        ax = figure.add_subplot(facecolor="none")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_INK)
    ax.tick_params(colors=_INK, labelcolor=_INK)
    return ax


def _label(ax: Any, *, x: str, y: str = "", title: str = "") -> None:
    ax.set_xlabel(x, color=_INK)
    ax.set_ylabel(y, color=_INK)
    if title:
        ax.set_title(title, color=_INK, loc="left", fontsize="medium")


def plot_changes(records: list[dict[str, Any]], most: int, ax: Any = None) -> Any:
    """How many plans change each feature, by the way they take it."""
    plans = [record for record in records if record.get("changes")]
    counts: dict[str, list[int]] = {}
    for record in plans:
        for change in record["changes"]:
            ways = counts.setdefault(str(change["feature"]), [0, 0, 0])
            before, after = change["from"], change["to"]
            is_number = isinstance(before, (int, float)) and isinstance(after, (int, float))
            ways[(0 if after > before else 1) if is_number else 2] += 1
    names = sorted(counts, key=lambda name: (-sum(counts[name]), name))[:most]
    ax = _axes(ax, 6.4, 1.2 + 0.32 * max(1, len(names)))
    before = [0] * len(names)
    for way, colour, words in ((0, _BLUE, "higher"), (1, _ORANGE, "lower"), (2, _INK, "another level")):
        values = [counts[name][way] for name in names]
        if any(values):
            ax.barh(names, values, left=before, color=colour, label=words, height=0.65)
            before = [a + b for a, b in zip(before, values, strict=True)]
    ax.invert_yaxis()
    if names:
        ax.xaxis.get_major_locator().set_params(integer=True)
        legend = ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderpad=0, columnspacing=1.2)
        for text in legend.get_texts():
            text.set_color(_INK)
    left = len(counts) - len(names)
    _label(ax, x="plans that change it", title=f"{len(plans)} plans" + (f"; {left} features that change less are not shown" if left > 0 else ""))
    return ax.figure


def plot_frontier(frontier: dict[str, Any], objective: float, ax: Any = None) -> Any:
    """What robustness costs: a line for each person, and the share that has a plan."""
    ax = _axes(ax, 6.4, 4.0)
    shares: dict[float, list[bool]] = {}
    lines = []
    for curve in frontier["results"]:
        points = []
        for point in curve["points"]:
            found = point.get("cost") is not None
            shares.setdefault(float(point["epsilon"]), []).append(found)
            if found:
                points.append((float(point["epsilon"]), float(point["cost"])))
        if points:
            lines.append(points)
    scale = 100 / objective if objective else 1.0
    for points in lines:
        ax.plot([scale * e for e, _ in points], [c for _, c in points], color=_BLUE, alpha=max(0.4, min(0.9, 6 / len(lines))), lw=1.2, marker="o", ms=2.5)
    ax.set_ylim(bottom=0)
    _label(ax, x="epsilon, % of the objective" if objective else "epsilon", y="cost of the plan")
    other = ax.twinx()
    _axes(other, 0, 0)
    other.spines["right"].set_visible(True)
    other.spines["right"].set_color(_INK)
    levels = sorted(shares)
    other.plot([scale * e for e in levels], [100 * sum(shares[e]) / len(shares[e]) for e in levels], color=_ORANGE, lw=2)
    other.set_ylim(0, 105)
    other.set_ylabel("% of people with a plan", color=_ORANGE)
    other.tick_params(axis="y", labelcolor=_ORANGE)
    return ax.figure

#!/usr/bin/env python3
"""turn-figure.py TRACE OUT.svg: a turn of a hot lock and its hand-over, drawn from a trace (docs/tracing.md)."""

import json
import sys
from collections import defaultdict

LOCKS = 1000001, 1000002
COORDINATORS = 4  # of each compute node
LEFT, WIDTH, ROW, GAP = 190, 960, 22, 10
KINDS = [  # category, colour, what the legend says
    ("turn", "#2f6fb3", "the compute node has its turn"),
    ("asked for", "#b9cfe6", "asks for the lock"),
    ("closing", "#17406e", "no other enters; those inside end"),
    ("hot lock", "#e3a33c", "waits for the turn"),
    ("attempt", "#8fbf8f", "attempt of a transaction"),
    ("record of this node", "#c98bb9", "waits for a neighbour's record"),
    ("verbs", "#3b7d3b", "round trip"),
]
COLOUR = {kind: colour for kind, colour, _ in KINDS}


def kind_of(event):
    if event["cat"] in ("verbs", "attempt"):
        return event["cat"]
    if event["cat"] == "wait" and event["name"] not in COLOUR:
        return "hot lock" if event["name"] == "hot lock" else "record of this node"
    return event["name"]


def load(path):
    lanes, names = defaultdict(list), {}
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        lane = event["pid"], event["tid"]
        if event["ph"] == "X":
            lanes[lane].append(event)
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[lane] = event["args"]["name"]
    arrows = [(e["id"], e["ph"], (e["pid"], e["tid"]), e["ts"]) for e in events if e["ph"] in "sf"]
    return lanes, names, arrows


def window_of(lanes):
    """From a little before one compute node's turn to a little after the next one's begin, amid the run."""
    turns = sorted((e["ts"], e["dur"], e["pid"]) for lane, events in lanes.items() if lane[1] == LOCKS[0]
                   for e in events if e["name"] == "turn")
    middle = [t for t in turns[len(turns) // 2:] if t[1] > 20]
    begin, length, _ = middle[0]
    return begin - length * 0.35, begin + length * 1.65


def rows_of(lanes):
    rows = []
    for pid in sorted({lane[0] for lane in lanes}):
        rows += [(pid, lock) for lock in LOCKS]
        busy = [lane for lane in lanes if lane[0] == pid and lane[1] < LOCKS[0]]
        rows += sorted(busy, key=lambda lane: lane[1])[:COORDINATORS]
    return rows


def draw(path, out):
    lanes, names, arrows = load(path)
    low, high = window_of(lanes)
    rows = rows_of(lanes)
    scale = (WIDTH - LEFT - 12) / (high - low)
    x_of = lambda ts: LEFT + (min(max(ts, low), high) - low) * scale
    top, y_of, y = 34, {}, 34
    for lane in rows:
        y += GAP if lane[1] == LOCKS[0] and y > top else 0
        y_of[lane] = y
        y += ROW
    height = y + 30 + 18 * ((len(KINDS) + 2) // 3)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    step = next(s for s in (5, 10, 20, 50, 100, 200) if (high - low) / s <= 12)
    for tick in range(0, int(high - low) + 1, step):
        x = LEFT + tick * scale
        svg.append(f'<path d="M{x:.1f} {top - 6}V{y}" stroke="#ddd"/><text x="{x:.1f}" y="20" text-anchor="middle" '
                   f'fill="#555">{tick} us</text>')
    for lane in rows:
        lock = lane[1] in LOCKS
        label = f"compute node {lane[0] - 1}, {names[lane]}" if lock else names[lane]
        weight = "bold" if lock else "normal"
        svg.append(f'<text x="{LEFT - 8}" y="{y_of[lane] + 15}" text-anchor="end" fill="#222" '
                   f'font-weight="{weight}">{label}</text>')
        for event in lanes[lane]:
            kind = kind_of(event)
            if event["ts"] > high or event["ts"] + event["dur"] < low or kind not in COLOUR: continue
            inner = 5 if kind in ("verbs", "record of this node", "closing", "hot lock") else 2
            left, right = x_of(event["ts"]), x_of(event["ts"] + event["dur"])
            svg.append(f'<rect x="{left:.1f}" y="{y_of[lane] + inner}" width="{max(right - left, 0.8):.1f}" '
                       f'height="{ROW - 2 * inner}" fill="{COLOUR[kind]}"/>')
    ends = {number: (lane, ts) for number, phase, lane, ts in arrows if phase == "f"}
    for number, phase, lane, ts in arrows:
        if phase != "s" or lane not in y_of or number not in ends: continue
        target, then = ends[number]
        if target not in y_of or ts < low or then > high: continue
        svg.append(f'<path d="M{x_of(ts):.1f} {y_of[lane] + ROW / 2}L{x_of(then):.1f} {y_of[target] + ROW / 2}" '
                   'stroke="#c0392b" stroke-width="2" fill="none"/>'
                   f'<circle cx="{x_of(then):.1f}" cy="{y_of[target] + ROW / 2}" r="3.5" fill="#c0392b"/>')
    for i, (_, colour, text) in enumerate(KINDS + [("", "#c0392b", "the lock is handed over")]):
        x, line = 20 + 310 * (i % 3), y + 24 + 18 * (i // 3)
        svg.append(f'<rect x="{x}" y="{line - 10}" width="14" height="11" fill="{colour}"/>'
                   f'<text x="{x + 20}" y="{line}" fill="#222">{text}</text>')
    with open(out, "w") as file:
        file.write("\n".join(svg + ["</svg>", ""]))


draw(*sys.argv[1:3])

"""Draws what ci/bench measured over sizes: latency and bandwidth, of shared memory and tcp, on logarithmic axes."""

import html
import math
import statistics

SIZES = {"8": 8, "4Ki": 4 << 10, "64Ki": 64 << 10, "1Mi": 1 << 20, "64Mi": 64 << 20}
# name in the legend, last part of the samples' names, colour, dash
LINES = [("ferry", "ferry", "#c2410c", ""), ("the limit", "limit", "#1f2937", "7 5"), ("UCX", "ucx", "#2563eb", "2 4")]
PANEL_WIDTH, PANEL_HEIGHT = 430, 300
LEFT, TOP, GAP_X, GAP_Y = 90, 110, 110, 110
DECADE_NAMES = {"ns": ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"],
                "B/s": {6: "1 MB/s", 7: "10 MB/s", 8: "100 MB/s", 9: "1 GB/s", 10: "10 GB/s", 11: "100 GB/s",
                        5: "100 kB/s", 4: "10 kB/s", 3: "1 kB/s", 2: "100 B/s", 12: "1 TB/s"}}


def series(values, transport, operation, last):
    points = []
    for name, size in SIZES.items():
        samples = values.get(f"{transport}/{operation}/{name}/{last}")
        if samples:
            points.append((size, statistics.median(samples)))
    return points


def text(x, y, content, size=13, anchor="middle", extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>'
            f"{html.escape(content)}</text>")


def panel(left, top, title, curves, unit):
    """curves: (points, colour, dash, marker hollow or not)."""
    all_points = [value for points, *_ in curves for _, value in points]
    low = math.floor(math.log10(min(all_points)))
    high = math.ceil(math.log10(max(all_points)))
    high = max(high, low + 1)
    x_low, x_high = 2, 27  # powers of two: 4 B to 128 MiB

    def x_of(size):
        return left + (math.log2(size) - x_low) / (x_high - x_low) * PANEL_WIDTH

    def y_of(value):
        return top + PANEL_HEIGHT - (math.log10(value) - low) / (high - low) * PANEL_HEIGHT

    out = [text(left + PANEL_WIDTH / 2, top - 16, title, 16, extra='font-weight="bold"'),
           f'<rect x="{left}" y="{top}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#6b7280"/>']
    for decade in range(low, high + 1):
        y = y_of(10 ** decade)
        names = DECADE_NAMES[unit]
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL_WIDTH}" y2="{y:.1f}" stroke="#e5e7eb"/>')
        out.append(text(left - 8, y + 4, names[decade], anchor="end"))
    for name, size in SIZES.items():
        x = x_of(size)
        out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + PANEL_HEIGHT}" stroke="#e5e7eb"/>')
        out.append(text(x, top + PANEL_HEIGHT + 20, name + "B" if name != "8" else "8 B"))
    for points, colour, dash, hollow in curves:
        path = " ".join(f"{x_of(size):.1f},{y_of(value):.1f}" for size, value in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                   f'stroke-dasharray="{dash}"/>')
        for size, value in points:
            out.append(f'<circle cx="{x_of(size):.1f}" cy="{y_of(value):.1f}" r="4" stroke="{colour}" stroke-width="2" '
                       f'fill="{"white" if hollow else colour}"/>')
    return out


def legend(top):
    out = []
    x = LEFT
    for name, _, colour, dash in LINES:
        out.append(f'<line x1="{x}" y1="{top}" x2="{x + 40}" y2="{top}" stroke="{colour}" stroke-width="3" '
                   f'stroke-dasharray="{dash}"/>')
        out.append(text(x + 48, top + 5, name, 14, "start"))
        x += 150
    out.append(f'<circle cx="{x}" cy="{top}" r="4" fill="#1f2937" stroke="#1f2937" stroke-width="2"/>')
    out.append(text(x + 10, top + 5, "read", 14, "start"))
    out.append(f'<circle cx="{x + 80}" cy="{top}" r="4" fill="white" stroke="#1f2937" stroke-width="2"/>')
    out.append(text(x + 90, top + 5, "write", 14, "start"))
    return out


def draw(values):
    """The SVG; empty if nothing was measured over sizes."""
    transports = [(name, title) for name, title in [("shm", "shared memory; limit: memcpy"),
                                                    ("tcp", "tcp; limit: a spinning plain socket")]
                  if series(values, name, "read", "ferry")]
    if not transports:
        return ""
    out = []
    for row, (transport, title) in enumerate(transports):
        curves = []
        for _, last, colour, dash in LINES:
            for operation, hollow in [("read", False), ("write", True)]:
                points = series(values, transport, operation, last)
                if points:
                    curves.append((points, colour, dash, hollow))
        top = TOP + row * (PANEL_HEIGHT + GAP_Y)
        out += panel(LEFT, top, f"Time of one operation: {title}", curves, "ns")
        rates = [([(size, size / value * 1e9) for size, value in points], *rest) for points, *rest in curves]
        out += panel(LEFT + PANEL_WIDTH + GAP_X, top, "Bytes per second: the same", rates, "B/s")
    width = LEFT + 2 * PANEL_WIDTH + GAP_X + 40
    height = TOP + len(transports) * (PANEL_HEIGHT + GAP_Y) - 40
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif" fill="#111827">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            text(LEFT, 34, "ferry between two processes of one host, one operation at a time", 20, "start",
                 'font-weight="bold"')]
    return "\n".join(head + legend(62) + out + ["</svg>"]) + "\n"

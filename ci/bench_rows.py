"""The rows of ci/bench's table: what is compared with what, and the goal of each."""

import statistics

SIZES = ["8", "4Ki", "64Ki", "1Mi", "64Mi"]


class Row:
    """goal: (kind, number, text). Kinds: times (ferry <= number x reference), plus (ferry <= reference + number),
    bandwidth (reference time / ferry time >= number), rate (same, of calls), most (ferry <= number)."""

    def __init__(self, section, label, ferry, unit="ns", limit=None, peer=None, goal=None, against="limit"):
        self.section = section
        self.label = label
        self.ferry = ferry
        self.unit = unit
        self.limit = limit
        self.peer = peer
        self.goal = goal
        self.against = against


def all_rows():
    rows = []
    for operation in ["read", "write"]:
        for size in SIZES:
            name = f"shm/{operation}/{size}"
            goal, against = ("times", 1.05, "<= 1.05 x memcpy"), "limit"
            if size == "4Ki":
                goal = ("plus", 20, "<= memcpy + 20 ns")
            if size == "8":
                goal = ("times", 0.8, "<= 0.8 x ucp_get") if operation == "read" else None
                against = "peer"
            rows.append(Row("shm", f"shm {operation} {size}B (memcpy)", name + "/ferry", limit=name + "/limit",
                            peer=name + "/ucx", goal=goal, against=against))
    rows.append(Row("shm", "shm 8B write ping-pong (stores)", "shm/ping_pong/8/ferry", limit="shm/ping_pong/8/limit",
                    peer="shm/ping_pong/8/ucx", goal=("times", 1.15, "<= 1.15 x stores")))
    for operation in ["read", "write"]:
        for size in ["8", "4Ki"]:
            rows.append(Row("shm", f"  system calls, {operation} {size}B", f"shm/{operation}/{size}/syscalls", "calls",
                            goal=("most", 0.05, "none")))
            rows.append(Row("shm", f"  allocations, {operation} {size}B", f"shm/{operation}/{size}/allocations", "each",
                            goal=("most", 0.05, "none")))
    for size in SIZES:
        goal = ("bandwidth", 0.97, ">= 0.97 x bandwidth")
        if size in ["8", "4Ki"]:
            goal = ("times", 1.0, "never slower")
        if size == "64Ki":
            goal = ("bandwidth", 0.90, ">= 0.90 x bandwidth")
        rows.append(Row("other", f"other memory read {size}B (process_vm_readv)", f"other/read/{size}/ferry",
                        limit=f"other/read/{size}/limit", goal=goal))
    for size in SIZES:
        rows.append(Row("other", f"other memory write {size}B (by the owner)", f"other/write/{size}/ferry"))
    rows.append(Row("other", "  system calls, read 4KiB", "other/read/4Ki/syscalls", "calls"))
    for operation in ["read", "write"]:
        for size in SIZES:
            name = f"tcp/{operation}/{size}"
            goal = None
            if size == "8" and operation == "read":
                goal = ("times", 1.2, "<= 1.2 x spinning socket")
            if size in ["1Mi", "64Mi"]:
                goal = ("bandwidth", 0.9, ">= 0.9 x socket")
            rows.append(Row("tcp", f"tcp {operation} {size}B (spinning socket)", name + "/ferry", limit=name + "/limit",
                            peer=name + "/ucx", goal=goal))
    rows.append(Row("tcp", "  the blocking socket, read 8B", "tcp/read/8/blocking"))
    rows.append(Row("tcp", "  the blocking socket, read 1MiB", "tcp/read/1Mi/blocking"))
    rows.append(Row("tcp", "  system calls, read 8B, both ends", "tcp/read/8/syscalls", "calls"))
    rows.append(Row("tcp", "  allocations, read 8B", "tcp/read/8/allocations", "each", goal=("most", 0.05, "none")))
    rows.append(Row("calls", "call over shm (8B write round trip)", "call/shm/ferry", limit="call/shm/limit",
                    goal=("plus", 600, "<= round trip + 600 ns")))
    rows.append(Row("calls", "call over tcp (8B read round trip; peer: CAF)", "call/tcp/ferry", limit="call/tcp/limit",
                    peer="call/tcp/1/caf", goal=("times", 1.5, "<= 1.5 x round trip")))
    for kind, what in [("local_call", "call in one process"), ("crossing_call", "  its actors on two threads")]:
        for depth in ["1", "64"]:
            rows.append(Row("calls", f"{what}, depth {depth} (peer: CAF)", f"{kind}/{depth}/ferry",
                            peer=f"{kind}/{depth}/caf", against="peer",
                            goal=("rate", 0.7, ">= 0.7 x CAF's rate") if depth == "64" else None))
            rows.append(Row("calls", f"  ran on another thread, depth {depth}", f"{kind}/{depth}/crossed", "share"))
    rows.append(Row("calls", "send in one process, four to one (peer: CAF)", "fan_in/ferry", peer="fan_in/caf",
                    against="peer"))
    for kind in ["call/shm", "call/tcp", "local_call/1"]:
        rows.append(Row("calls", f"  system calls, {kind}, all threads", f"{kind}/syscalls", "calls"))
        rows.append(Row("calls", f"  allocations, {kind}, caller", f"{kind}/allocations", "each"))
    rows.append(Row("memory", "100,000 buffers and 10,000 actors", "memory/bytes", "bytes",
                    goal=("most", 200 << 20, "< 200 MiB")))
    rows.append(Row("memory", "  of them the buffers", "memory/buffers_bytes", "bytes"))
    rows.append(Row("memory", "  registration of a buffer", "memory/register"))
    rows.append(Row("memory", "  spawn of an actor", "memory/spawn_actor"))
    rows.append(Row("memory", "Batch of 10,000 over tcp: allocations of one", "memory/batch_allocations", "each",
                    goal=("most", 0.0, "none")))
    rows.append(Row("memory", "  time of one", "memory/batch_member"))
    rows.append(Row("sim", "simulated step, with hash (event loop)", "sim/steps", limit="sim/event_loop_floor",
                    goal=("most", 500, ">= 2 M steps/s")))
    rows.append(Row("sim", "simulated step, with trace (event loop)", "sim/steps_with_trace",
                    limit="sim/event_loop_floor", goal=("most", 2000, ">= 0.5 M steps/s")))
    rows.append(Row("sim", "small world, from nothing to its end", "sim/small_worlds",
                    goal=("most", 50_000, ">= 20 k worlds/s")))
    rows.append(Row("sim", "state of the litmus machine, explored", "sim/states",
                    goal=("most", 10_000, ">= 100 k states/s")))
    rows.append(Row("sim", "idle queue pair of a simulated NIC", "sim/queue_bytes", "B",
                    goal=("most", 1024, "<= 1 KiB")))
    rows += verbs_rows()
    rows.append(Row("idle", "idle with eight peers: share of a core", "idle/window", "share",
                    goal=("most", 0.01, "< 1 %")))
    return rows


def verbs_rows():
    rows = []
    for size in ["8", "4Ki"]:
        rows.append(Row("verbs", f"verbs read {size}B (ib_read_lat)", f"verbs/latency/read/{size}/ferry",
                        limit=f"verbs/latency/read/{size}/limit", goal=("times", 1.2, "<= 1.2 x ib_read_lat")))
        rows.append(Row("verbs", f"verbs {size}B write, half a round trip (ib_write_lat)",
                        f"verbs/ping_pong/{size}/ferry", limit=f"verbs/ping_pong/{size}/limit",
                        goal=("times", 1.2, "<= 1.2 x ib_write_lat")))
    for operation in ["read", "write"]:
        for size in ["64Ki", "1Mi", "8Mi"]:
            name = f"verbs/bandwidth/{operation}/{size}"
            rows.append(Row("verbs", f"verbs {operation} {size}B, 128 at once (ib_{operation}_bw)", name + "/ferry",
                            limit=name + "/limit", goal=("bandwidth", 0.95, f">= 0.95 x ib_{operation}_bw")))
        name = f"verbs/rate/{operation}/64"
        rows.append(Row("verbs", f"verbs {operation} 64B, 128 at once (ib_{operation}_bw)", name + "/ferry",
                        limit=name + "/limit", goal=("rate", 0.9, f">= 0.9 x ib_{operation}_bw's rate")))
    # What delivered costs over transmitted.
    for size in ["8", "4Ki"]:
        rows.append(Row("verbs", f"  delivered write {size}B (transmitted)", f"verbs/latency/delivered/{size}/ferry",
                        limit=f"verbs/latency/write/{size}/ferry"))
    for kind, size in [("bandwidth", "64Ki"), ("bandwidth", "1Mi"), ("bandwidth", "8Mi"), ("rate", "64")]:
        rows.append(Row("verbs", f"  delivered write {size}B, 128 at once (transmitted)",
                        f"verbs/{kind}/delivered/{size}/ferry", limit=f"verbs/{kind}/write/{size}/ferry"))
    return rows


def median_ratio(ferry, reference):
    """Of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(ferry, reference) if b > 0)


def judge(row, ferry, reference):
    """(ratio as a number or None, whether the goal is met or None)."""
    ratio = median_ratio(ferry, reference) if reference else None
    if row.goal is None:
        return ratio, None
    kind, number, _ = row.goal
    if kind == "most":
        return ratio, statistics.median(ferry) <= number
    if not reference:
        return None, None
    if kind == "plus":
        return ratio, statistics.median(a - b for a, b in zip(ferry, reference)) <= number
    if kind in ("bandwidth", "rate"):
        return 1 / ratio, 1 / ratio >= number
    return ratio, ratio <= number


def evaluate(values, sections):
    result = []
    for row in all_rows():
        ferry = values.get(row.ferry)
        if row.section not in sections or not ferry:
            continue
        limit = values.get(row.limit, [])
        peer = values.get(row.peer, [])
        reference = peer if row.against == "peer" else limit
        ratio, met = judge(row, ferry, reference)
        result.append({
            "section": row.section, "label": row.label, "unit": row.unit,
            "ferry": statistics.median(ferry), "ferry_min": min(ferry), "rounds": len(ferry),
            "limit": statistics.median(limit) if limit else None, "limit_min": min(limit) if limit else None,
            "peer": statistics.median(peer) if peer else None, "peer_min": min(peer) if peer else None,
            "ratio": ratio,
            "ratio_of_minima": min(ferry) / min(reference) if reference and min(reference) > 0 else None,
            "goal": row.goal[2] if row.goal else "", "met": met})
    return result


def show(value, unit):
    if value is None:
        return ""
    if unit == "ns":
        for scale, name in [(1e6, "ms"), (1e3, "us")]:
            if value >= 10 * scale:
                return f"{value / scale:.1f} {name}"
        return f"{value:.1f} ns" if value < 1000 else f"{value:.0f} ns"
    if unit == "bytes":
        return f"{value / (1 << 20):.1f} MiB"
    if unit == "B":
        return f"{value:.0f} B"
    if unit == "share":
        return f"{value * 100:.2f} %"
    return f"{value:.2f}"


def table(rows):
    header = ["", "ferry", "(least)", "limit", "UCX, CAF", "ratio", "(of least)", "goal", "met"]
    lines = [header]
    for row in rows:
        number = lambda ratio: "" if ratio is None else f"{ratio:.2f}"
        lines.append([row["label"], show(row["ferry"], row["unit"]), show(row["ferry_min"], row["unit"]),
                      show(row["limit"], row["unit"]), show(row["peer"], row["unit"]), number(row["ratio"]),
                      number(row["ratio_of_minima"]), row["goal"],
                      {True: "yes", False: "NO", None: ""}[row["met"]]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = []
    section = None
    for index, line in enumerate(lines):
        if index > 0 and rows[index - 1]["section"] != section:
            section = rows[index - 1]["section"]
            text.append("-" * (sum(widths) + 2 * len(widths)))
        cells = [cell.ljust(width) if column in (0, 7) else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)

"""What Counts show: dicts, UHI histograms, charts, notebooks."""

import collections
import contextlib
import html
import itertools
import json
import math
import os
import threading

from . import _imghist, _table


def _number(value):
    return None if isinstance(value, float) and math.isnan(value) else value


def to_dict(counts):
    record = json.loads(b"".join(_table.ndjson([counts], "")))
    for channel in record["channels"]:
        channel.update(zip(_imghist.Stats.__match_args__, map(_number, counts[channel["name"]])))
    record["file"], record["images"], record["warnings"] = counts.file, counts.images, list(counts.warnings)
    record["mean_luminance"] = _number(counts.mean_luminance)
    if counts.luma != "none":
        record["mean_luma"] = channel["mean"]
    return record


def to_uhi(counts):
    import numpy

    if "float" in counts.samples:
        raise ValueError("the bins of floats have no equal widths: they are no regular axis")
    lower = {"int8": -128.0, "int16": -32768.0}.get(counts.samples, 0.0)
    metadata = {"luma_weights": counts.luma, "alpha": counts.alpha, "images": counts.images}
    if counts.file is not None:
        metadata["file"] = counts.file
    return {
        "uhi_schema": 1,
        "writer_info": {"imghist": {"version": _imghist.__version__}},
        "metadata": metadata,
        "axes": [
            {
                "type": "category_str",
                "categories": list(counts.planes),
                "flow": False,
                "metadata": {"name": "plane"},
            },
            {
                "type": "regular",
                "lower": lower,
                "upper": lower + counts.n_bins,
                "bins": counts.n_bins,
                "underflow": False,
                "overflow": False,
                "circular": False,
                "metadata": {"name": "value"},
            },
        ],
        "storage": {"type": "int", "values": numpy.asarray(counts.bins).astype(numpy.int64)},
    }


Distance = collections.namedtuple("Distance", "ks emd")
Comparison = collections.namedtuple("Comparison", "ks emd channels")


def compare(a, b):
    if not isinstance(b, _imghist.Counts):
        raise TypeError(f"compare: {type(b)} is not Counts")
    if "float" in a.samples or "float" in b.samples:
        raise ValueError("compare: the bins of floats have no equal distances; use imghist --diff")
    channels = {}
    for plane in (a + b).planes:
        sides = [c.histogram(plane if plane in c.planes else 0).tolist() for c in (a, b)]
        if plane == "alpha" and not ("alpha" in a.planes and "alpha" in b.planes):
            continue  # a plane that one side lacks has no distance
        n_a, n_b = map(sum, sides)
        if n_a and n_b:
            gaps = [abs(x * n_b - y * n_a) for x, y in zip(*map(itertools.accumulate, sides))]
            channels[plane] = Distance(max(gaps) / (n_a * n_b), sum(gaps) / (n_a * n_b))
    if not channels:
        raise ValueError("compare: no pixels to compare")
    return Comparison(*(max(d[i] for d in channels.values()) for i in range(2)), channels)


def _draw(counts, name, size, scale, theme, title, scale_y="count"):
    shown, name = (s.encode("utf-8", "replace").decode() for s in (counts.file or "pixels", name))  # if not UTF-8
    return _imghist.chart(counts, shown.replace("\0", "?"), name, size, scale, theme, title, scale_y)


def chart(counts, path, size, scale, theme, title, scale_y):
    """The file appears whole or not at all."""
    path = os.fspath(path)
    drawn = _draw(counts, os.fsdecode(path), size, scale, theme, title, scale_y)
    part = b".imghist-%d-%d.part" % (os.getpid(), threading.get_ident())  # fits where the name does
    part = os.path.join(os.path.dirname(os.fsencode(path)), part)
    try:
        with open(part, "wb") as file:
            file.write(drawn)
        os.replace(part, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def repr_html(counts):
    if not counts.planes or not counts.images:
        return f"<p>{html.escape(repr(counts))}</p>"
    fields = ("mean", "stddev", "min", "p01", "median", "p99", "max", "crushed", "blown")
    rows = []
    for plane in counts.planes:
        cells = (getattr(counts[plane], field) for field in fields)
        texts = (f"{v:.2f}" if isinstance(v, float) else str(v) for v in cells)
        rows.append(f"<tr><th>{plane}</th>" + "".join(f"<td>{t}</td>" for t in texts) + "</tr>")
    head = "<tr><th></th>" + "".join(f"<th>{field}</th>" for field in fields) + "</tr>"
    svg = _draw(counts, "chart.svg", (640, 400), "linear", "light", None).decode()
    return svg[svg.index("<svg") :] + f"<table>{head}{''.join(rows)}</table>"

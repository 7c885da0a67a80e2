"""Counts in the form that other programs keep for a data set. Each function takes one Counts: of an image, or a total.

Values are exact: they come from the counts of all pixels, not from samples or from averages of parts. So the
statistics of merged episodes or shards are those of the total of their counts.
"""

import bisect
import itertools
import math

from ._table import Table

__all__ = ["lerobot_stats", "nnunet_intensities", "normalization", "stac_band", "write_parquet"]


def _colours(counts, how_many=None):
    """The names of the stored channels without alpha; gray counts as red, green and blue if three are needed."""
    names = [name for name in counts.planes if name not in ("alpha", "luma")]
    if not names or counts.pixels == 0:
        raise ValueError("adapters: the counts have no pixels")
    return names * 3 if how_many == 3 and len(names) == 1 else names


def _quantile(bins, share):
    """NumPy's default quantile (linear interpolation) of the values that bins count."""
    below = list(itertools.accumulate(bins))
    at = share * (below[-1] - 1)
    low, high = (bisect.bisect_right(below, n) for n in (math.floor(at), math.ceil(at)))
    return low + (high - low) * (at - math.floor(at))


def normalization(counts):
    """(mean, std) of red, green and blue for torchvision.transforms.Normalize: two lists, of values from 0 to 1."""
    largest = len(counts.histogram(0)) - 1
    stats = [counts[name] for name in _colours(counts, 3)]
    return [s.mean / largest for s in stats], [s.stddev / largest for s in stats]


def lerobot_stats(counts):
    """The entry of one camera in LeRobot's meta/stats.json: values from 0 to 1 in lists of shape [3, 1, 1].

    count is the number of frames. The quantiles are those of all pixels of all frames.
    """
    names = _colours(counts, 3)
    largest = len(counts.histogram(0)) - 1

    def shaped(values):
        return [[[float(v) / largest]] for v in values]

    entry = {key: shaped(getattr(counts[name], field) for name in names)
             for key, field in (("min", "min"), ("max", "max"), ("mean", "mean"), ("std", "stddev"))}
    entry["count"] = [counts.images]
    for percent in (1, 10, 50, 90, 99):
        entry[f"q{percent:02}"] = shaped(_quantile(counts.histogram(name), percent / 100) for name in names)
    return entry


def nnunet_intensities(counts):
    """foreground_intensity_properties_per_channel of nnU-Net's dataset fingerprint, with channels from "0".

    The pixels are those that were counted; for the foreground, read the result file of imghist --mask with scan. Values
    are in the file's units if the counts are native.
    """
    return {str(i): {"max": float(s.max), "mean": s.mean, "median": _quantile(bins, 0.5), "min": float(s.min),
                     "percentile_00_5": _quantile(bins, 0.005), "percentile_99_5": _quantile(bins, 0.995),
                     "std": s.stddev}
            for i, (s, bins) in enumerate((counts[name], counts.histogram(name)) for name in _colours(counts))}


def stac_band(counts, channel=0):
    """The statistics and histogram of a channel as the raster extension 1.1 of STAC has them, for an entry of raster:bands.

    min and max are the lower edge of the first bucket and the upper edge of the last; buckets are one value wide.
    """
    stats, bins = counts[channel], counts.histogram(channel).tolist()
    _colours(counts)
    return {"statistics": {"minimum": stats.min, "maximum": stats.max, "mean": stats.mean, "stddev": stats.stddev},
            "histogram": {"count": len(bins), "min": -0.5, "max": len(bins) - 0.5, "buckets": bins}}


def write_parquet(results, path, *, batch_images=4096, **settings):
    """Writes a row for each result to a Parquet file, with what imghist.Table(rows="images") has. Needs pyarrow.

    results       Counts and exceptions, as count_many and scan give them; read once
    batch_images  rows in a row group, and in memory
    settings      of pyarrow.parquet.ParquetWriter
    """
    import pyarrow
    import pyarrow.parquet

    table = Table(results, batch_images=batch_images, rows="images")
    reader = pyarrow.RecordBatchReader.from_stream(table)
    with pyarrow.parquet.ParquetWriter(path, reader.schema, **settings) as writer:
        for batch in reader:
            writer.write_batch(batch)

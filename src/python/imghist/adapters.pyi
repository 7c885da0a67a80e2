import os
from collections.abc import Iterable
from typing import Any

from ._imghist import Counts

__all__ = ["lerobot_stats", "nnunet_intensities", "normalization", "stac_band", "write_parquet"]

def lerobot_stats(counts: Counts) -> dict[str, list[Any]]: ...
def nnunet_intensities(counts: Counts) -> dict[str, dict[str, float]]: ...
def normalization(counts: Counts) -> tuple[list[float], list[float]]: ...
def stac_band(counts: Counts, channel: int | str = 0) -> dict[str, dict[str, Any]]: ...
def write_parquet(
    results: Iterable[Counts | Exception],
    path: str | os.PathLike[str],
    *,
    batch_images: int = 4096,
    **settings: Any,
) -> None: ...

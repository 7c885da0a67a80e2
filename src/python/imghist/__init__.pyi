from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, overload

from ._imghist import Context as Context
from ._imghist import Countable, Layout, Luma, Order, Path
from ._imghist import Counts as Counts
from ._imghist import Error as Error
from ._imghist import Results as Results
from ._imghist import Stats as Stats
from ._imghist import __version__ as __version__
from ._reader import Results as ReaderResults
from ._table import Table as Table

__all__ = ["Context", "Counts", "Error", "Results", "Stats", "Table", "copies", "count", "count_batch"]
__all__ += ["count_many", "ndjson", "read_table", "scan", "total"]

@overload
def count(
    x: Countable,
    /,
    *,
    layout: Layout | None = None,
    order: Order = "rgb",
    range: tuple[int, int] | None = None,
    threads: int | None = None,
    labels: None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    context: Context | None = None,
) -> Counts: ...
@overload
def count(
    x: Countable,
    /,
    *,
    layout: Layout | None = None,
    order: Order = "rgb",
    range: tuple[int, int] | None = None,
    labels: Any,
    ignore_label: int | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    context: Context | None = None,
) -> dict[int, Counts]: ...
def count_batch(
    tensor: Any,
    layout: str = "NHWC",
    labels: Any = None,
    *,
    n_labels: int | None = None,
    order: Order = "rgb",
    luma: bool = True,
    bins: int | Literal["native"] = 256,
    sums: Any = False,
    out: Any = None,
    stream: Any = None,
    context: Context | None = None,
) -> Any: ...
@overload
def count_many(
    iterable: Iterable[Countable | tuple[str, Countable]],
    /,
    *,
    threads: int | None = None,
    on_error: Literal["raise"] = "raise",
    layout: Layout | None = None,
    order: Order = "rgb",
    range: tuple[int, int] | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    context: Context | None = None,
) -> Results[Counts]: ...
@overload
def count_many(
    iterable: Iterable[Countable | tuple[str, Countable]],
    /,
    *,
    threads: int | None = None,
    on_error: Literal["record"],
    layout: Layout | None = None,
    order: Order = "rgb",
    range: tuple[int, int] | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    context: Context | None = None,
) -> Results[Counts | Exception]: ...
@overload
def scan(
    paths: Path | Iterable[Path] = (),
    /,
    *,
    files_from: Path | None = None,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["raise"] = "raise",
    reader: None = None,
    labels: Path | None = None,
    ignore_label: int | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    context: Context | None = None,
) -> Results[Counts]: ...
@overload
def scan(
    paths: Path | Iterable[Path] = (),
    /,
    *,
    files_from: Path | None = None,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["record"],
    reader: None = None,
    labels: Path | None = None,
    ignore_label: int | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    context: Context | None = None,
) -> Results[Counts | Exception]: ...
@overload
def scan(
    paths: Path | Iterable[Path],
    /,
    *,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["raise"] = "raise",
    reader: Callable[[str], Any],
    pattern: str | Iterable[str] | None = None,
    workers: Literal["threads", "processes"] | None = None,
    layout: Layout | None = None,
    order: Order | None = None,
    range: tuple[int, int] | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    context: Context | None = None,
) -> ReaderResults[Counts]: ...
@overload
def scan(
    paths: Path | Iterable[Path],
    /,
    *,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["record"],
    reader: Callable[[str], Any],
    pattern: str | Iterable[str] | None = None,
    workers: Literal["threads", "processes"] | None = None,
    layout: Layout | None = None,
    order: Order | None = None,
    range: tuple[int, int] | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    context: Context | None = None,
) -> ReaderResults[Counts | Exception]: ...
@overload
def scan(
    paths: Any = (),
    /,
    *,
    files_from: Path | None = None,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    reader: Callable[[str], Any] | None = None,
    pattern: str | Iterable[str] | None = None,
    workers: Literal["threads", "processes"] | None = None,
    layout: Layout | None = None,
    order: Order | None = None,
    range: tuple[int, int] | None = None,
    luma: Luma | None = None,
    bins: Literal[256, "native"] | None = None,
    nodata: float | Literal["none"] | None = None,
    bands: str | None = None,
    labels: Path | None = None,
    ignore_label: int | None = None,
    fields: str | Iterable[str],
    sort: str | None = None,
    top: int | None = None,
    context: Context | None = None,
) -> Iterator[dict[str, str | int | float | None]]: ...
@overload
def total(results: Iterable[Counts | Exception], /, *, by: None = None) -> Counts: ...
@overload
def total(
    results: Iterable[Counts | Exception],
    /,
    *,
    by: Literal["folder"] | Mapping[str, str] | Callable[[Counts | Exception], str],
) -> dict[str, Counts]: ...
def copies(results: Iterable[Counts | Exception], /) -> list[list[str | int]]: ...
def ndjson(results: Iterable[Counts | Exception], /, *, folder: str = "") -> Iterator[bytes]: ...
def read_table(table: Any, /) -> Iterator[Counts | Error]: ...

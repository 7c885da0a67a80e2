import os
import sys
from _typeshed import structseq
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, final, overload

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

class _Readable(Protocol):
    def read(self, size: int = ..., /) -> Any: ...

class _ArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

Countable = str | os.PathLike[str] | os.PathLike[bytes] | Buffer | _Readable | _ArrayInterface | _DLPack
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Layout = Literal["HW", "WH", "HWC", "CHW", "WHC", "CWH", "HCW", "WCH"]
Order = Literal["rgb", "bgr"]
Luma = Literal["bt709", "bt601", "none"]
_T_co = TypeVar("_T_co", covariant=True)

__version__: str

class Error(Exception):
    status: str
    source: str | None

STATS_CODES: str  # of Arrow, for each field of Stats

_StatsTuple: TypeAlias = tuple[
    int,  # count
    int,  # sum
    float,  # mean
    float,  # stddev
    int,  # min
    int,  # max
    int,  # p01
    int,  # p05
    int,  # p25
    int,  # median
    int,  # p75
    int,  # p95
    int,  # p99
    float,  # entropy
    int,  # crushed
    int,  # blown
    float,  # skewness
    float,  # kurtosis
    int,  # mode
    float,  # mode_share
    int,  # otsu
    int,  # distinct
    int,  # step
]

@final
class Stats(structseq[float], _StatsTuple):
    @property
    def count(self) -> int: ...  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride] # hides tuple.count
    @property
    def sum(self) -> int: ...
    @property
    def mean(self) -> float: ...
    @property
    def stddev(self) -> float: ...
    @property
    def min(self) -> int | float: ...
    @property
    def max(self) -> int | float: ...
    @property
    def p01(self) -> int | float: ...
    @property
    def p05(self) -> int | float: ...
    @property
    def p25(self) -> int | float: ...
    @property
    def median(self) -> int | float: ...
    @property
    def p75(self) -> int | float: ...
    @property
    def p95(self) -> int | float: ...
    @property
    def p99(self) -> int | float: ...
    @property
    def entropy(self) -> float: ...
    @property
    def crushed(self) -> int: ...
    @property
    def blown(self) -> int: ...
    @property
    def skewness(self) -> float: ...
    @property
    def kurtosis(self) -> float: ...
    @property
    def mode(self) -> int | float: ...
    @property
    def mode_share(self) -> float: ...
    @property
    def otsu(self) -> int | float: ...
    @property
    def distinct(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def bins(self) -> Bins: ...
    @property
    def nan(self) -> int: ...
    @property
    def positive_infinity(self) -> int: ...
    @property
    def negative_infinity(self) -> int: ...
    @property
    def nodata(self) -> int: ...
    def percentile(self, percent: float, /) -> int | float: ...

@final
class Bins:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def format(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: tuple[int, int], /) -> int: ...
    def __len__(self) -> int: ...
    def tolist(self) -> list[Any]: ...
    def to_numpy(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Distance(NamedTuple):
    ks: float
    emd: float

class Comparison(NamedTuple):
    ks: float
    emd: float
    channels: dict[str, Distance]

@final
class Counts:
    @property
    def bins(self) -> Bins: ...
    @property
    def n_bins(self) -> int: ...
    @property
    def samples(self) -> str: ...
    @property
    def planes(self) -> tuple[str, ...]: ...
    @property
    def file(self) -> str | None: ...
    @property
    def images(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def pixels(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def source_depth(self) -> int: ...
    @property
    def source_min(self) -> int | None: ...
    @property
    def source_max(self) -> int | None: ...
    @property
    def format(self) -> str: ...
    @property
    def decoder(self) -> str: ...
    @property
    def kernel(self) -> str: ...
    @property
    def luma(self) -> str: ...
    @property
    def alpha(self) -> str: ...
    @property
    def clip(self) -> tuple[int, int]: ...
    @property
    def crushed_any(self) -> int: ...
    @property
    def blown_any(self) -> int: ...
    @property
    def crushed_all(self) -> int: ...
    @property
    def blown_all(self) -> int: ...
    @property
    def reduction(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def mask(self) -> str: ...
    @property
    def label(self) -> int | None: ...
    @property
    def mean_luminance(self) -> float: ...
    @property
    def fingerprint(self) -> str: ...
    def field(self, name: str, sigma: float = 3.0, /) -> str | int | float | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    def histogram(self, plane: str | int, /) -> memoryview: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: Buffer, /) -> Counts: ...
    def to_dict(self) -> dict[str, Any]: ...
    def chart(
        self,
        path: str | os.PathLike[str],
        /,
        *,
        size: tuple[int, int] = (1024, 640),
        scale: Literal["linear", "log", "sqrt"] = "linear",
        theme: Literal["dark", "light"] = "dark",
        title: str | None = None,
        scale_y: Literal["count", "percent"] = "count",
    ) -> None: ...
    def compare(self, other: Counts, /) -> Comparison: ...
    def _to_uhi_(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
    def __getitem__(self, plane: str | int, /) -> Stats: ...
    def __len__(self) -> int: ...
    def __add__(self, other: Counts | Literal[0], /) -> Counts: ...
    def __radd__(self, other: int, /) -> Counts: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    __array_ufunc__: ClassVar[None]
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Results(Iterator[_T_co], Generic[_T_co]):
    @property
    def bins(self) -> Literal[256, "native"] | None: ...
    @property
    def skipped(self) -> int: ...
    def __next__(self) -> _T_co: ...
    def close(self) -> None: ...
    def __enter__(self) -> Results[_T_co]: ...
    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Context:
    def __init__(
        self,
        *,
        device: str = "cpu",
        kernel: str | None = None,
        luma: Luma | None = "bt709",
        alpha: Literal["count", "skip-transparent"] | None = "count",
        clip: tuple[int, int] = (0, 255),
        max_pixels: int = 0,
        max_memory: int = 0,
        lenient: bool = False,
        timeout: int = 0,
        raw_channels: int = 0,
        raw_preview: bool = False,
        raw_sensor: bool = False,
        bins: Literal[256, "native"] = 256,
        nodata: float | Literal["none"] | None = None,
        axes: Literal["auto", "HWC", "CHW", "NHW", "NHWC", "NCHW"] | None = None,
        bands: str | None = None,
    ) -> None: ...
    @property
    def bins(self) -> Literal[256, "native"]: ...
    @property
    def device(self) -> str: ...
    def count(
        self,
        x: Countable,
        /,
        *,
        layout: Layout | None = None,
        order: Order = "rgb",
        range: tuple[int, int] | None = None,
        threads: int | None = None,
    ) -> Counts: ...
    @overload
    def count_many(
        self,
        iterable: Iterable[Countable | tuple[str, Countable]],
        /,
        *,
        threads: int | None = None,
        on_error: Literal["raise"] = "raise",
        layout: Layout | None = None,
        order: Order = "rgb",
        range: tuple[int, int] | None = None,
    ) -> Results[Counts]: ...
    @overload
    def count_many(
        self,
        iterable: Iterable[Countable | tuple[str, Countable]],
        /,
        *,
        threads: int | None = None,
        on_error: Literal["record"],
        layout: Layout | None = None,
        order: Order = "rgb",
        range: tuple[int, int] | None = None,
    ) -> Results[Counts | Exception]: ...
    @overload
    def scan(
        self,
        paths: Path | Iterable[Path] = (),
        /,
        *,
        files_from: Path | None = None,
        shard: tuple[int, int] | None = None,
        threads: int | None = None,
        on_error: Literal["raise"] = "raise",
    ) -> Results[Counts]: ...
    @overload
    def scan(
        self,
        paths: Path | Iterable[Path] = (),
        /,
        *,
        files_from: Path | None = None,
        shard: tuple[int, int] | None = None,
        threads: int | None = None,
        on_error: Literal["record"],
    ) -> Results[Counts | Exception]: ...

def cores() -> int: ...
def iterate(
    context: Context,
    iterable: Iterable[Any],
    threads: int,
    raises: bool,
    layout: str | None,
    order: str | None,
    range: tuple[int, int] | None,
    /,
) -> Results[Any]: ...
def count_labels(
    context: Context,
    x: Any,
    labels: Any,
    ignore_label: int | None,
    layout: str | None,
    order: str | None,
    range: tuple[int, int] | None,
    /,
) -> dict[int, Counts]: ...
def walk(
    context: Context,
    paths: Iterable[bytes],
    files_from: bytes | None,
    shard: int,
    n_shards: int,
    threads: int,
    raises: bool,
    reads_records: bool,
    labels: bytes | None = None,
    ignore_label: int | None = None,
    /,
) -> Results[Any]: ...
def is_image_name(path: Path, /) -> bool: ...
def load(data: Buffer, file: str | None, /) -> Counts: ...
def failures(number: int, /) -> Counts: ...
def ndjson(file: bytes, counts: Counts | None, error: bytes, folder: bytes, /) -> bytes: ...
def batch(
    context: Context,
    tensor: Any,
    layout: str,
    order: str,
    labels: Any,
    n_labels: int,
    n_bins: int,
    luma: bool,
    sums: bool,
    exchange: int,
    stream: int,
    allocate: Callable[[tuple[int, ...], int], Any],
    /,
) -> Any: ...
def chart(
    counts: Counts,
    name: str,
    file_name: str,
    size: tuple[int, int],
    scale: str,
    theme: str,
    title: str | None,
    scale_y: str,
    /,
) -> bytes: ...
def arrow_stream(columns: list[Any], next_batch: Callable[[], Any], /) -> object: ...

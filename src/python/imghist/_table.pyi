from collections.abc import Iterable
from typing import Literal

from ._imghist import Counts

class Table:
    def __init__(
        self,
        results: Iterable[Counts | Exception],
        *,
        batch_images: int = 256,
        saved: bool = False,
        rows: Literal["channels", "images"] = "channels",
        bins: Literal[256, "native"] | None = None,
    ) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

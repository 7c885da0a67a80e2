from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Literal, TypeVar

_T_co = TypeVar("_T_co", covariant=True)

class Results(Iterator[_T_co], Generic[_T_co]):
    bins: Literal[256, "native"]
    skipped: int
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

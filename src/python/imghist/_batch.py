"""count_batch: where the counts of a batch go, and the stream that counts."""

import sys

from . import _imghist


def _library(tensor):
    """The loaded module that made a tensor, if it is one whose allocator is known."""
    name = type(tensor).__module__.partition(".")[0]
    return name, sys.modules.get(name)


def _stream(tensor, stream):
    """The CUstream to count on, and what __dlpack__ gets as its stream.

    On the producer's current stream, earlier work is done before and nothing has to wait: -1.
    """
    name, library = _library(tensor)
    if stream is None and name == "torch" and tensor.is_cuda:
        return library.cuda.current_stream(tensor.device).cuda_stream, -1
    if stream is None and name == "cupy":
        return library.cuda.get_current_stream().ptr, -1
    if stream is None:
        interface = getattr(tensor, "__cuda_array_interface__", None) if name != "torch" else None
        stream = (interface or {}).get("stream")
    handle = 0 if stream is None else int(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))
    return handle, handle or 1  # 1 is the default stream in DLPack


def _allocate(tensor, shape, bits):
    name, library = _library(tensor)
    if name == "torch":
        dtype = library.int32 if bits == 32 else library.int64
        return library.empty(shape, dtype=dtype, device=tensor.device)
    if name in ("cupy", "numpy"):
        return library.empty(shape, f"uint{bits}")
    if not hasattr(tensor, "__cuda_array_interface__") and 0 not in shape:
        n = bits // 8
        for size in shape:
            n *= size
        return memoryview(bytearray(n)).cast("I" if bits == 32 else "Q", shape)
    raise ValueError(f"out: cannot allocate for a {type(tensor).__name__}: pass out (and sums)")


def count_batch(
    context, tensor, layout, labels, n_labels, order, luma, sums, out, stream
):
    if labels is not None and n_labels is None:
        raise ValueError("n_labels: say how many labels there are; a mask that is 0 inside has 1")
    given = iter([out, None if isinstance(sums, bool) else sums])

    def allocate(shape, bits):
        found = next(given, None)
        return _allocate(tensor, shape, bits) if found is None else found

    handle, exchange = _stream(tensor, stream)
    return _imghist.batch(
        context, tensor, layout, order, labels, n_labels or 0, luma, sums is not False, exchange, handle,
        allocate,
    )

"""count_batch: where the counts of a batch go, and the stream that counts.

A call takes a few microseconds, so nothing is imported here and torch is asked through its shortest
ways.
"""

import sys

from . import _imghist


def _library(tensor):
    """The name of the library that made a tensor, and its module; "" and None if it is not loaded."""
    name = type(tensor).__module__.partition(".")[0]
    library = sys.modules.get(name)
    return (name, library) if library is not None else ("", None)


def _torch_stream(torch, device):
    """The CUstream that is current on a device, without an object for it if torch can."""
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return torch.cuda.current_stream(device).cuda_stream if current is None else current(device.index)


def _stream(name, library, tensor, stream):
    """The CUstream to count on, and what __dlpack__ gets as its stream.

    On the producer's current stream, earlier work is done before and nothing has to wait: -1.
    """
    if stream is None and name == "torch":
        return (_torch_stream(library, tensor.device) if tensor.is_cuda else 0), -1
    if stream is None and name == "cupy":
        return library.cuda.get_current_stream().ptr, -1
    if stream is None:
        interface = getattr(tensor, "__cuda_array_interface__", None)
        stream = (interface or {}).get("stream")
    handle = 0 if stream is None else int(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))
    return handle, handle or 1  # 1 is the default stream in DLPack


def _allocate(name, library, tensor, shape, bits):
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
    name, library = _library(tensor)
    given = {32: out, 64: None if isinstance(sums, bool) else sums}
    # __dlpack__ of torch is Python code, as is __dlpack_device__. On the current stream it only makes
    # this capsule.
    to_capsule = library.utils.dlpack.to_dlpack if name == "torch" and stream is None else None

    def view(x):
        return to_capsule(x) if to_capsule is not None and isinstance(x, library.Tensor) else x

    def allocate(shape, bits):
        made = given[bits]
        if made is None:
            made = _allocate(name, library, tensor, shape, bits)
        return made, view(made)

    handle, exchange = _stream(name, library, tensor, stream)
    return _imghist.batch(
        context, view(tensor), layout, order, view(labels), n_labels or 0, luma, sums is not False, exchange,
        handle, allocate,
    )

"""count_batch: where the counts of a batch go, and the stream that counts.

A call takes a few microseconds, so nothing is imported for it and torch is asked through its shortest
ways.
"""

import sys

from . import _imghist

_JAX = ("jax", "jaxlib")
_KINDS = {}  # of the dtypes of torch


def _package(x):
    return type(x).__module__.partition(".")[0]


def _library(tensor):
    """The name of the library that made a tensor, and its module; "" and None if it is not loaded."""
    torch = sys.modules.get("torch")
    if isinstance(tensor, getattr(torch, "Tensor", ())):  # also of a subclass in another module
        return "torch", torch
    name = _package(tensor)
    library = sys.modules.get(name)
    return (name, library) if library is not None else ("", None)


def _torch_stream(torch, index):
    """The CUstream that is current on a device, without an object for it if torch can."""
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return torch.cuda.current_stream(index).cuda_stream if current is None else current(index)


def _stream(name, library, tensor, stream):
    """The CUstream to count on, and what __dlpack__ gets as its stream.

    On the producer's current stream, earlier work is done before and nothing has to wait: -1.
    """
    if stream is None and name == "torch":
        return (_torch_stream(library, tensor.get_device()) if tensor.is_cuda else 0), -1
    if stream is None and name == "cupy":
        return library.cuda.get_current_stream().ptr, -1
    if stream is None:
        interface = getattr(tensor, "__cuda_array_interface__", None)
        stream = (interface or {}).get("stream")
    handle = 0 if stream is None else int(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))
    return handle, handle or 1  # 1 is the default stream in DLPack


def _allocate(name, library, tensor, shape, bits, is_signed):
    """A new tensor, and its address, which is 0 if it has to be asked for its memory."""
    dtype = f"int{bits}" if is_signed else f"uint{bits}"
    if name == "torch":
        dtype = library.int32 if bits == 32 else library.int64
        made = library.empty(shape, dtype=dtype, device=tensor.device)
        return made, made.data_ptr()
    if name == "cupy":
        made = library.empty(shape, dtype)
        return made, made.data.ptr
    if name == "numpy":
        return library.empty(shape, dtype), 0
    is_jax, is_on_gpu = name in _JAX, hasattr(tensor, "__cuda_array_interface__")
    if is_jax and not is_on_gpu:
        return sys.modules["numpy"].empty(shape, dtype), 0
    if not is_on_gpu and 0 in shape:  # which memoryview.cast does not make
        import ctypes

        kind = ctypes.c_uint32 if bits == 32 else ctypes.c_uint64
        for size in reversed(shape):
            kind *= size
        return memoryview(kind()), 0
    if not is_on_gpu:
        n = bits // 8
        for size in shape:
            n *= size
        return memoryview(bytearray(n)).cast("I" if bits == 32 else "q" if is_signed else "Q", shape), 0
    how = " of CuPy or torch; jax.dlpack.from_dlpack makes them JAX's" if is_jax else ""
    raise ValueError(f"cannot allocate for a {type(tensor).__name__}: pass out (and sums){how}")


def _describe(torch, x):
    """A tensor of torch: its address, shape, steps in elements, kind, bits, and whether a GPU has it.

    What no batch has is left to to_dlpack, which takes several times as long.
    """
    if not _KINDS:
        names = {"u": ("uint8", "uint16"), "i": ("int16", "int32", "int64"), "f": ("float16",), "B": ("bfloat16",)}
        _KINDS.update((getattr(torch, name, None), kind) for kind in names for name in names[kind])
    kind = _KINDS.get(x.dtype)
    if kind is None or not (x.is_cuda or x.is_cpu):
        return torch.utils.dlpack.to_dlpack(x)
    return x.data_ptr(), x.shape, x.stride(), kind, 8 * x.element_size(), x.is_cuda


def count_batch(
    context, tensor, layout, labels, n_labels, order, luma, bins, sums, out, stream
):
    if labels is not None and n_labels is None:
        raise ValueError("n_labels: say how many labels there are; a mask that is 0 inside has 1")
    name, library = _library(tensor)
    given = {32: out, 64: None if sums is True else sums}
    is_direct = name == "torch" and stream is None  # nothing has to wait for another stream

    def view(x):
        if is_direct and isinstance(x, library.Tensor):
            return _describe(library, x)
        if type(x) is tuple:  # which the extension would take for a description
            raise TypeError("a tuple is no array")
        return x

    def allocate(shape, bits, is_signed):
        made, address = given[bits], 0
        if made is None:
            made, address = _allocate(name, library, tensor, shape, bits, is_signed)
        elif _package(made) in _JAX:
            raise ValueError("a JAX array never changes: pass one of NumPy, CuPy or torch")
        if stream is not None:  # which has to wait for the last user of this memory
            address = 0
        return made, made if address else view(made), address

    handle, exchange = _stream(name, library, tensor, stream)
    return _imghist.batch(
        context, view(tensor), layout, order, view(labels), n_labels or 0, 65536 if bins == "native" else bins, luma,
        sums is not None and sums is not False, exchange, handle, allocate,
    )

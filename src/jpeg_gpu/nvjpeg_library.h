/*
 * nvJPEG, loaded when JPEG files are there for it.
 *
 * It is 6 MB, and takes a few hundred milliseconds to set up, so it is neither linked nor needed:
 * the program starts without it. Its functions keep their meaning within a major version, which is
 * in the library's name and is asked for once more.
 */
#ifndef IH_JPEG_GPU_NVJPEG_LIBRARY_H
#define IH_JPEG_GPU_NVJPEG_LIBRARY_H

#include "base/dynlib.h"

#include <nvjpeg.h>

#define IH_NVJPEG_FUNCTIONS(F)                                                                \
    F(nvjpegStatus_t, nvjpegGetProperty, (libraryPropertyType, int *))                        \
    F(nvjpegStatus_t, nvjpegCreateEx,                                                         \
      (nvjpegBackend_t, nvjpegDevAllocator_t *, nvjpegPinnedAllocator_t *, unsigned,          \
       nvjpegHandle_t *))                                                                     \
    F(nvjpegStatus_t, nvjpegDestroy, (nvjpegHandle_t))                                        \
    F(nvjpegStatus_t, nvjpegGetHardwareDecoderInfo, (nvjpegHandle_t, unsigned *, unsigned *)) \
    F(nvjpegStatus_t, nvjpegJpegStateCreate, (nvjpegHandle_t, nvjpegJpegState_t *))           \
    F(nvjpegStatus_t, nvjpegJpegStateDestroy, (nvjpegJpegState_t))                            \
    F(nvjpegStatus_t, nvjpegDecodeBatchedInitialize,                                          \
      (nvjpegHandle_t, nvjpegJpegState_t, int, int, nvjpegOutputFormat_t))                    \
    F(nvjpegStatus_t, nvjpegDecodeBatchedPreAllocate,                                         \
      (nvjpegHandle_t, nvjpegJpegState_t, int, int, int, nvjpegChromaSubsampling_t,           \
       nvjpegOutputFormat_t))                                                                 \
    F(nvjpegStatus_t, nvjpegDecodeBatched,                                                    \
      (nvjpegHandle_t, nvjpegJpegState_t, const unsigned char *const *, const size_t *,       \
       nvjpegImage_t *, cudaStream_t))

/* nvJPEG's functions by their own names. */
struct ih_nvjpeg {
    IH_NVJPEG_FUNCTIONS(IH_DYNLIB_MEMBER)
};

/*
 * functions  filled
 * version    filled: "nvJPEG 13.0.1"
 *
 * Returns IH_OK, or IH_UNAVAILABLE with why there is none.
 * Threads: any.
 */
enum ih_status ih_nvjpeg_load(struct ih_nvjpeg *functions, char *version, size_t size,
                              struct ih_error *err);

#endif

/*
 * From signed and float samples of 16 bits to keys, whose order as unsigned integers is that of the
 * values (src/histogram/sample_type.h), two in a word: a signed sample gets its sign bit inverted,
 * and of a negative float the other bits are inverted too. Then 0x7fff is the key of -0, which
 * counts as 0: ih_key_bin says where.
 *
 * Both C and CUDA. tests/unit/test_sample_type.c compares all samples with those of the CPU.
 */
#ifndef IH_KERNELS_KEYS_H
#define IH_KERNELS_KEYS_H

#include <stdint.h>

#ifdef __CUDACC__
#define IH_KEYS static __host__ __device__ __forceinline__
#else
#define IH_KEYS static inline
#endif

/* What ih_key_pair takes. */
enum { IH_KEYS_SIGNED = 0, IH_KEYS_FLOAT = 0x7fff7fff };

IH_KEYS uint32_t ih_key_pair(uint32_t pair, uint32_t inverted)
{
    uint32_t negative; /* all bits of the samples below 0 */
#ifdef __CUDA_ARCH__
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(negative) : "r"(pair));
#else
    negative = (pair >> 15 & 0x10001u) * 0xffffu;
#endif
    return pair ^ (0x80008000u ^ (negative & inverted));
}

IH_KEYS uint32_t ih_key_bin(uint32_t key, uint32_t inverted)
{
    return key == 0x7fff && inverted ? 0x8000 : key;
}

#endif

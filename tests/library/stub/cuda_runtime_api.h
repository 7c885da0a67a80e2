/* The one name of CUDA that the example count_device.c needs, so that it is compiled on machines
 * without the toolkit too. tests/gpu/run.sh runs it with the real header. */
typedef struct CUstream_st *cudaStream_t;

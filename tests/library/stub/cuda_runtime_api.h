/* The only CUDA name that the example count_device.c needs. With it the example also compiles on
 * machines without the toolkit. tests/gpu/run.sh runs it with the real header. */
typedef struct CUstream_st *cudaStream_t;

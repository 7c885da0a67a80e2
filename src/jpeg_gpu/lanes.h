/*
 * The entropy-coded data of a large JPEG without restart markers, walked at four places at once.
 */
#ifndef IH_JPEG_GPU_LANES_H
#define IH_JPEG_GPU_LANES_H

#include "jpeg_gpu/validate.h"

/*
 * Walks the data of a plan after ih_jpeg_walk_header. True: the data is sound, and plan->data_bytes
 * ends before EOI. False: nothing is known, as memory was short, the data is damaged, or just not
 * of the kind that this way is for; plan is as it was.
 *
 * Threads: one per plan. Takes a copy of the data from the heap meanwhile, and 180 KB.
 */
bool ih_jpeg_lanes_walk(struct ih_jpeg_plan *plan);

#endif

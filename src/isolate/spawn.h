/* The start of a helper process: what it is given, and nothing else. */
#ifndef IH_ISOLATE_SPAWN_H
#define IH_ISOLATE_SPAWN_H

#include "isolate/decoder_process.h"

/* Starts the program and fills pid, socket and memory. IH_OK or IH_UNAVAILABLE. */
enum ih_status ih_decoder_process_spawn(struct ih_decoder_process *h, struct ih_error *err);

#endif

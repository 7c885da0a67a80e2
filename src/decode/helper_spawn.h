/* The start of a helper process: what it is given, and nothing else. */
#ifndef IH_DECODE_HELPER_SPAWN_H
#define IH_DECODE_HELPER_SPAWN_H

#include "decode/helper.h"

/* Starts the program and fills pid, socket and memory. IH_OK or IH_UNAVAILABLE. */
enum ih_status ih_helper_spawn(struct ih_helper *h, struct ih_error *err);

#endif

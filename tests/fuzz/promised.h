/* A promise that does not hold aborts the program, which a fuzzer takes for a crash. */
#ifndef IH_TESTS_PROMISED_H
#define IH_TESTS_PROMISED_H

#include <stdio.h>
#include <stdlib.h>

#define PROMISED(condition)                                                                 \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                        \
        }                                                                                   \
    } while (0)

#endif

/* PROMISED(condition) aborts the program if the condition is false; a fuzzer reports a crash. */
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

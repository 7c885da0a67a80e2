/*
 * Libraries that are loaded when they are first needed.
 *
 * libtiff, libheif and libjxl bring forty other libraries along. Linked, these took 10 to 30 ms of
 * every start of the program, which otherwise needs 1; so they are loaded with dlopen, once, and
 * stay. Their functions are called through a struct of pointers, made from a list of prototypes
 * that the compiler holds against the library's header.
 */
#ifndef IH_BASE_DYNLIB_H
#define IH_BASE_DYNLIB_H

#include "base/status.h"

#include <stddef.h>

/* For a list LIST(F) of F(type, name, (arguments)): */
#define IH_DYNLIB_MEMBER(type, name, arguments) type(*name) arguments; /* of the struct */
#define IH_DYNLIB_NAME(type, name, arguments) #name,                   /* of the names */
#define IH_DYNLIB_CHECK(type, name, arguments) \
    _Static_assert(_Generic(&name, type(*) arguments : 1, default : 0), #name);

/* Any function, as it is stored. */
typedef void (*ih_dynlib_function)(void);

/*
 * library     "libheif.so.1"
 * functions   the struct's members: ih_dynlib_function [n], in the order of names
 *
 * Returns IH_OK, or IH_UNSUPPORTED with the loader's reason: other files can be read.
 * Threads: any.
 */
enum ih_status ih_dynlib_load(const char *library, const char *const *names, size_t n,
                              void *functions, struct ih_error *err);

#endif

/*
 * Libraries that are loaded when an image first needs them.
 *
 * libtiff, libheif and libjxl depend on forty other libraries. Linking them would add 10 to 30 ms
 * to each start of the program, which otherwise takes 1 ms. A list of prototypes generates a struct
 * of function pointers, and the compiler checks the list against the library's header. With
 * IH_STATIC, for the wheel, the libraries are linked in and the struct gets their addresses.
 */
#ifndef IH_BASE_DYNLIB_H
#define IH_BASE_DYNLIB_H

#include "base/status.h"

#include <stddef.h>

/* Arguments for a list LIST(F) of F(type, name, (arguments)): */
#define IH_DYNLIB_MEMBER(type, name, arguments) type(*name) arguments; /* the struct */
#define IH_DYNLIB_NAME(type, name, arguments) #name,                   /* their names */
#define IH_DYNLIB_CHECK(type, name, arguments) \
    _Static_assert(_Generic(&name, type(*) arguments : 1, default : 0), #name);

#define IH_DYNLIB_ADDRESS(type, name, arguments) .name = name,

/* Defines load(type *functions, err), which is ih_dynlib_load for a list and its struct. */
#if defined(IH_STATIC)
#define IH_DYNLIB_LOADER(LIST, type, library)                         \
    LIST(IH_DYNLIB_CHECK)                                             \
    static enum ih_status load(type *functions, struct ih_error *err) \
    {                                                                 \
        (void)err;                                                    \
        *functions = (type){LIST(IH_DYNLIB_ADDRESS)};                 \
        return IH_OK;                                                 \
    }
#else
#define IH_DYNLIB_LOADER(LIST, type, library)                                                \
    LIST(IH_DYNLIB_CHECK)                                                                    \
    static enum ih_status load(type *functions, struct ih_error *err)                        \
    {                                                                                        \
        static const char *const names[] = {LIST(IH_DYNLIB_NAME)};                           \
        return ih_dynlib_load(library, names, sizeof names / sizeof *names, functions, err); \
    }
#endif

/* Defines the struct too, and prepare(err), which loads the library and implements prepare of a
 * decoder (decode/decoder.h). */
#define IH_DYNLIB_DECODER(LIST, type, library)          \
    type{LIST(IH_DYNLIB_MEMBER)};                       \
    IH_DYNLIB_LOADER(LIST, type, library)               \
    static enum ih_status prepare(struct ih_error *err) \
    {                                                   \
        type functions;                                 \
        return load(&functions, err);                   \
    }

/* A function of any type, as it is stored. */
typedef void (*ih_dynlib_function)(void);

/*
 * Loads a library and looks up n functions. The library stays loaded.
 *
 * library     "libheif.so.1"
 * functions   the struct's members: ih_dynlib_function [n], in the order of names
 *
 * Returns IH_OK, or IH_UNSUPPORTED with the loader's reason.
 * Threads: any.
 */
enum ih_status ih_dynlib_load(const char *library, const char *const *names, size_t n,
                              void *functions, struct ih_error *err);

#endif

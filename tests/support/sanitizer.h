/* HAS_SANITIZER is 1 in builds with the address or thread sanitizer, which replaces malloc. */
#ifndef IH_TESTS_SANITIZER_H
#define IH_TESTS_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

#endif

/* tsan.h - WITH_TSAN: this is built for ThreadSanitizer, by gcc or by clang. */
#pragma once

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

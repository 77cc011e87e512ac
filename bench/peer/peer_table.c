/* peer_table.c - the stores; those whose library was missing when this was built are names only. */
#include "peer_table.h"

#include "peer.h"

#include <stdarg.h>
#include <stdio.h>

#define X(name, library, package) extern const struct peer_ops peer_##name __attribute__((weak));
PEER_TABLE(X)
#undef X

const struct peer peer_table[] = {
#define X(name, library, package) {#name, package, &peer_##name},
    PEER_TABLE(X)
#undef X
};
const uint32_t peer_count = sizeof peer_table / sizeof peer_table[0];

int peer_fail(const char *format, ...)
{
    va_list arguments;
    fputs("cellar-peers: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return -1;
}

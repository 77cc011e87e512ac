/*
 * other_build.c POOL BYTES - an embedder's program, which has the library's modes alone, opens that pool, and says what
 * came of it.
 */
#include <cellar.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct cellar *db;
    if (argc != 3) return 2;
    int rc = cellar_open(argv[1], CELLAR_OPTIONS(.flags = CELLAR_EXISTING, .bytes = strtoull(argv[2], NULL, 10)), &db);
    puts(rc ? cellar_last_error()->text : "open");
    if (rc == 0) cellar_close(db);
    return rc != 0;
}

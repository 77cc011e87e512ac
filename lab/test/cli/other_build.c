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
    struct cellar_error error = {0};
    if (argc != 3) return 2;
    struct cellar_config config = {.pool_path = argv[1], .pool_bytes = strtoull(argv[2], NULL, 10), .existing = true};
    int rc = cellar_open(&config, &db, &error);
    puts(rc ? error.text : "open");
    if (rc == 0) cellar_close(db);
    return rc != 0;
}

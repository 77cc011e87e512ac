/*
 * sqlite_run.h - connections that have cellar.so loaded, as any application has them; and statements with their result.
 */
#pragma once

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void sqlite_run_fail(sqlite3 *db, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "no memory");
    exit(1);
}

/* A connection to that file, with the extension of this build. */
static inline sqlite3 *sqlite_run_open(const char *file)
{
    char path[4096];
    char *message = NULL;
    sqlite3 *db = NULL;
    const char *build = getenv("CELLAR_BUILD");
    snprintf(path, sizeof path, "%s/cellar.so", build ? build : ".");
    if (sqlite3_open(file, &db)) sqlite_run_fail(db, file);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, path, NULL, &message)) sqlite_run_fail(db, message ? message : path);
    return db;
}

/* A file's name in a folder of its own, which goes with the process. */
static inline const char *sqlite_run_pool(void)
{
    static char path[64];
    snprintf(path, sizeof path, "sqlite_%d.pool", (int)getpid());
    unlink(path);
    return path;
}

/* What a statement has given: its code, and its rows as text. */
struct sqlite_result {
    int code, changes;
    uint32_t rows;
    bool cut; /* the text has no room for all of them */
    size_t used;
    char text[1 << 18];
};

static inline void sqlite_run_row(sqlite3_stmt *statement, struct sqlite_result *result)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        size_t left = sizeof result->text - result->used;
        int type = sqlite3_column_type(statement, i), bytes = sqlite3_column_bytes(statement, i);
        int used = snprintf(result->text + result->used, left, "%s%c:%.*s", i ? "|" : "", "?irtbn"[type],
                            type == SQLITE_BLOB ? 0 : bytes, (const char *)sqlite3_column_text(statement, i));
        result->used += (size_t)used < left ? (size_t)used : left - 1;
        for (int at = 0; type == SQLITE_BLOB && at < bytes && sizeof result->text - result->used > 3; at++)
            result->used += (size_t)sprintf(result->text + result->used, "%02x",
                                            ((const uint8_t *)sqlite3_column_blob(statement, i))[at]);
    }
    result->cut = result->used >= sizeof result->text - 3;
    if (!result->cut) result->text[result->used++] = '\n';
    result->text[result->used] = 0;
    result->rows++;
}

/* Runs one statement to its end. */
static inline int sqlite_run(sqlite3 *db, const char *sql, struct sqlite_result *result)
{
    sqlite3_stmt *statement = NULL;
    result->rows = 0;
    result->cut = false;
    result->used = 0;
    result->text[0] = 0;
    result->code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (result->code == SQLITE_OK) {
        while ((result->code = sqlite3_step(statement)) == SQLITE_ROW) sqlite_run_row(statement, result);
        if (result->code == SQLITE_DONE) result->code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    if (result->code) result->code = sqlite3_extended_errcode(db);
    return result->code;
}

/* The same, for statements whose rows are not wanted. */
static inline int sqlite_run_only(sqlite3 *db, const char *format, ...)
{
    struct sqlite_result *result = malloc(sizeof *result);
    va_list args;
    va_start(args, format);
    char *sql = sqlite3_vmprintf(format, args);
    va_end(args);
    int code = sqlite_run(db, sql, result);
    sqlite3_free(sql);
    free(result);
    return code;
}

static inline void sqlite_run_must(sqlite3 *db, const char *sql)
{
    if (sqlite_run_only(db, "%s", sql)) sqlite_run_fail(db, sql);
}

/* The integer that a query gives; *code: what it ended with. */
static inline int64_t sqlite_run_number(sqlite3 *db, const char *sql, int *code)
{
    struct sqlite_result *result = malloc(sizeof *result);
    *code = sqlite_run(db, sql, result);
    int64_t number = *code == SQLITE_OK && result->rows ? strtoll(result->text + 2, NULL, 10) : 0;
    free(result);
    return number;
}

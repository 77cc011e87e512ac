/*
 * peer_table.h - the stores that cellar-peers runs the same transactions on, a row and a file each: peer_NAME.c defines
 * peer_NAME. A row is the name, what pkg-config calls its library ("" for none), and the Debian package that has it.
 * CMake reads these rows, too; a store whose library is missing is not built, and refused with its package's name.
 */
#pragma once

/* clang-format off */
#define PEER_TABLE(X)                                                                                                  \
    X(cellar, "", "")                                                                                                  \
    X(session, "", "")                                                                                                 \
    X(lmdb, "lmdb", "liblmdb-dev")                                                                                     \
    X(wiredtiger, "wiredtiger", "libwiredtiger-dev")                                                                   \
    X(rocksdb, "rocksdb", "librocksdb-dev")                                                                            \
    X(sqlite, "sqlite3", "libsqlite3-dev")
/* clang-format on */

/* face_options.h - structs of the public headers that begin with their size, and what they ask for. */
#pragma once

#include "engine_config.h"
#include "err.h"
#include "session.h"

/*
 * Copies a struct of a user's, which begins with its size, into one of `bytes` as this library knows it; what the user
 * does not know is zero. NULL: all of it. INVALID: the size cannot be, or there is something that this library does
 * not know.
 */
NODISCARD int face_options_struct(void *own, uint32_t bytes, const void *from, const char *name,
                                  struct cellar_error *error);
/* The reverse, of all that this library knows: as much as the user's struct says that it has; else zeros. INVALID. */
NODISCARD int face_options_give(void *to, const void *own, uint32_t bytes, const char *name,
                                struct cellar_error *error);
/* What cellar_begin and cellar_run ask for. INVALID. */
NODISCARD int face_options_txn(struct session_options *to, const struct cellar_txn_options *options,
                               struct cellar_error *error);
/* What cellar_open asks for. INVALID. */
NODISCARD int face_options_read(struct engine_config *config, const char *path, const struct cellar_options *options,
                                struct cellar_error *error);

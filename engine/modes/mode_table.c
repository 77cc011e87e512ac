/* mode_table.c - the table of modes that the library links. */
#include "mode_table.h"

#include "recover_internal.h"

MODE_TABLE(MODES);

recover_undo_fn *const recover_undo = NULL; /* none of them logs what was there */

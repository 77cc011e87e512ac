/*
 * shell.h - `cellar shell`, `dump`, `load`, `snapshot` and `top`: a pool in the hands of people and of other programs.
 * They are users of the public headers like any embedder, and reach nothing below it.
 */
#pragma once

#include "command.h"

command_fn shell_main;     /* cellar shell (shell.c) */
command_fn shell_dump;     /* cellar dump (dump.c) */
command_fn shell_load;     /* cellar load (load.c) */
command_fn shell_snapshot; /* cellar snapshot (snapshot.c) */
command_fn shell_top;      /* cellar top (top.c) */

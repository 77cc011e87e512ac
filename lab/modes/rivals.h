/*
 * rivals.h - the modes that the laboratory adds to the library's: their numbers, as engine_config.cc and `mode_of` know
 * them where its table is linked (mode_table.c). A program without it has no such modes.
 */
#pragma once

#include "cellar_lab.h"

#define CELLAR_LAB_CC_FORD ((enum cellar_lab_cc)(CELLAR_LAB_CC_CREST + 1))
#define CELLAR_LAB_CC_MOTOR ((enum cellar_lab_cc)(CELLAR_LAB_CC_CREST + 2))
#define CELLAR_LAB_CC_TWOPL ((enum cellar_lab_cc)(CELLAR_LAB_CC_CREST + 3)) /* two-phase locking */

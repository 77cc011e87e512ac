# commit.cmake - writes the header OUT with the commit of the working tree, `+` when it has changes, if it is another
# than before.
cmake_minimum_required(VERSION 3.18)
execute_process(COMMAND git describe --always --dirty=+ --abbrev=10 --exclude=* OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define CELLAR_COMMIT \"@commit@\"\n" @ONLY)

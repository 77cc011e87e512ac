# tests.cmake - what CTest runs: programs and scripts of test/ and lab/test/. CMakeLists.txt includes it.

enable_testing()
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
add_custom_target(tests)

# Seconds after which a test of that folder is a failure; also the list of folders. Ten times what most need: a machine
# that does other things besides must not make them fail.
set(timeout_lint 600)
set(timeout_unit 600)
set(timeout_contract 900)
set(timeout_interleave 1500)
set(timeout_fault 1500)
set(timeout_cli 900)
set(timeout_sqlite 900)
set(timeout_sim 1200)
set(timeout_spec 1500)
set(timeout_xfail 1500)
set(timeout_example 300)
set(timeout_verbs 1200)

# How much of long searches (test/share.h, test/sim/seeds.sh) the tests make, in percent: the plain build all of it.
if(NOT SHARE)
  set(SHARE 100)
  if(TSAN)
    set(SHARE 8)
  elseif(ASAN OR UBSAN OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(SHARE 12)
  elseif(PLANTS)
    set(SHARE 40)
  endif()
endif()

# Where most of a search is made it takes most of an hour, beside others.
if(SHARE GREATER_EQUAL 40)
  foreach(kind fault interleave sim spec xfail)
    math(EXPR timeout_${kind} "3 * ${timeout_${kind}}")
  endforeach()
endif()

# Where tests find the program. Built for another machine (scripts/aarch64.cmake) that is a script that runs it under
# the emulator.
set(programs ${CMAKE_CURRENT_BINARY_DIR})
if(CMAKE_CROSSCOMPILING_EMULATOR)
  set(programs ${CMAKE_CURRENT_BINARY_DIR}/emulated)
  string(REPLACE ";" " " emulator "${CMAKE_CROSSCOMPILING_EMULATOR}")
  file(WRITE ${programs}/cellar "#!/bin/sh\nexec ${emulator} ${CMAKE_CURRENT_BINARY_DIR}/cellar \"$@\"\n")
  file(CHMOD ${programs}/cellar PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()

# Tests that `scripts/test.sh` leaves to `scripts/test.sh all`, by label `all`: those that take minutes, that measure, or
# that need what a busy machine does not give.
set(left_to_all "^((lint)[.]build|cli[.](etcd|exp|exp_txn|exp_locks|exp_page|instructions|session_instructions|lines|packages|peers|trace|ycsb_cpp)|fault[.]powerloss(_[a-z]+)?|spec[.]quick|verbs[.]guest|sqlite[.]sqlite_instructions|xfail[.](recorded|walks|shrinking|replays|damaged|schedules))$")

# Under sanitizers these take minutes, too.
if(ASAN OR UBSAN OR TSAN)
  string(APPEND left_to_all "|^(unit[.]tpcc_run|contract[.](api_pool|storage_audit)|fault[.]two_lost|cli[.]sim|sqlite[.]sqlite_transactions)$")
endif()

# Side by side the long ones come first (COST), or the last of them would run alone.
set(long "^((interleave|fault|sim|xfail|spec)[.]|contract[.](storage_audit|api_pool|shm_stress)$|cli[.](bench|check|exp|exp_txn|exp_locks|kill|sim)$|unit[.]tpcc_run$|verbs[.]guest$)")

# cellar_test(KIND NAME command...): the CTest test KIND.NAME, labelled KIND, if TEST_MATCH wants it; 77 means skipped.
function(cellar_test kind name)
  set(test ${TEST_PREFIX}${kind}.${name})
  set(cost 1)
  if("${kind}.${name}" MATCHES "${long}")
    set(cost 100)
  endif()
  add_test(NAME ${test} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set(labels ${kind})
  if("${kind}.${name}" MATCHES "${left_to_all}")
    list(APPEND labels all)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 TIMEOUT ${timeout_${kind}} COST ${cost}
                       ENVIRONMENT
                       "CELLAR_BUILD=${programs};CELLAR_SHARE=${SHARE};CELLAR_BESIDE=${BESIDE};CC=${CMAKE_C_COMPILER}")
endfunction()

# The rooms whose headers a test includes, itself or through headers of its folder, are what it links: a test of base
# builds while the engine does not.
function(rooms_of source out)
  set(used)
  get_filename_component(folder ${source} DIRECTORY)
  file(STRINGS ${source} lines REGEX "^#include \"")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" header "${line}")
    if(header STREQUAL "cellar.h")
      list(APPEND used engine)
    endif()
    foreach(place ${folder} ${PROJECT_SOURCE_DIR}/test/${kind})
      if(EXISTS ${place}/${header})
        rooms_of(${place}/${header} more)
        list(APPEND used ${more})
        break()
      endif()
    endforeach()
    foreach(room ${rooms})
      foreach(part ${${room}_folders})
        if(EXISTS ${PROJECT_SOURCE_DIR}/${part}/${header})
          list(APPEND used ${room})
        endif()
      endforeach()
    endforeach()
    if(EXISTS ${PROJECT_SOURCE_DIR}/test/${header})
      list(APPEND used harness)
    endif()
  endforeach()
  set(${out} ${used} PARENT_SCOPE)
endfunction()

# What tests share lies in test/ itself.
file(GLOB harness_sources CONFIGURE_DEPENDS test/*.c)
file(GLOB harness_headers CONFIGURE_DEPENDS test/*.h)
set(harness_rooms)
foreach(source ${harness_sources} ${harness_headers})
  rooms_of(${source} used)
  list(APPEND harness_rooms ${used})
endforeach()
list(REMOVE_ITEM harness_rooms harness)
set(harness_folders test)
room(harness SOURCES ${harness_sources} LINKS ${harness_rooms} base PkgConfig::CMOCKA)

set(kinds unit contract interleave fault cli sim)
if(SQLITE3_FOUND)
  list(APPEND kinds sqlite)
endif()
if(PLANTS AND LAB) # some of the planted bugs are the laboratory's
  list(APPEND kinds xfail)
endif()
set(wings test)
if(LAB)
  list(APPEND wings lab/test)
endif()
foreach(kind ${kinds})
  list(TRANSFORM wings APPEND /${kind}/test_*.c OUTPUT_VARIABLE test_sources)
  file(GLOB test_sources CONFIGURE_DEPENDS ${test_sources})
  file(GLOB kind_sources CONFIGURE_DEPENDS test/${kind}/*.c) # those that are no test are for each of them
  list(FILTER kind_sources EXCLUDE REGEX "/test_[^/]*$")
  set(kind_parts)
  if(test_sources AND kind_sources)
    set(kind_parts ${kind}_parts)
    add_library(${kind_parts} STATIC EXCLUDE_FROM_ALL ${kind_sources})
    foreach(source ${kind_sources})
      rooms_of(${source} used)
      target_link_libraries(${kind_parts} PUBLIC ${used})
    endforeach()
  endif()
  foreach(source ${test_sources})
    get_filename_component(name ${source} NAME_WE)
    if("${kind}/${name}" MATCHES "${TEST_MATCH}")
      rooms_of(${source} used)
      string(REGEX REPLACE "^test_" "" short ${name})
      add_executable(${name} ${source})
      target_link_options(${name} PRIVATE ${PLAIN_PROGRAM})
      foreach(folder test/${kind} lab/modes) # tests of the laboratory use headers of that kind; all know rivals.h
        target_compile_options(${name} PRIVATE "SHELL:-iquote '${PROJECT_SOURCE_DIR}/${folder}'")
      endforeach()
      target_link_libraries(${name} PRIVATE ${kind_parts} ${used} base PkgConfig::CMOCKA)
      if(kind STREQUAL "sqlite") # tests of an application that loads cellar.so: it is no part of them
        target_link_libraries(${name} PRIVATE PkgConfig::SQLITE3)
      endif()
      add_dependencies(tests ${name})
      cellar_test(${kind} ${short} ${name})
    endif()
  endforeach()
endforeach()

if(TARGET test_verbs_security AND TARGET PkgConfig::VERBS)
  target_compile_definitions(test_verbs_security PRIVATE CELLAR_HAS_VERBS)
endif()

# It stands in for what allocates: its rooms' calls lead to its own functions.
if(TARGET test_memory)
  foreach(name malloc calloc realloc aligned_alloc posix_memalign strdup mmap pthread_create)
    target_link_options(test_memory PRIVATE LINKER:--wrap=${name})
  endforeach()
endif()

if(TARGET test_disk_folder)
  target_link_options(test_disk_folder PRIVATE LINKER:--wrap=fsync)
endif()

# The example of lab/docs/locks.md, taken out of the page; the test has a table with its line.
if(TARGET test_lock_template)
  set(template ${CMAKE_CURRENT_BINARY_DIR}/template_locks)
  file(READ lab/docs/locks.md page)
  string(FIND "${page}" "#include \"lockmgr_algorithm.h\"" begin)
  string(SUBSTRING "${page}" ${begin} -1 page)
  string(FIND "${page}" "\n```" end)
  string(SUBSTRING "${page}" 0 ${end} page)
  file(GENERATE OUTPUT ${template}/lockmgr_spin.c CONTENT "${page}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS lab/docs/locks.md)
  target_sources(test_lock_template PRIVATE ${template}/lockmgr_spin.c)
endif()

# The example of docs/modes.md likewise: two files, and a row more in a table of modes.
if(TARGET test_mode_template)
  set(template ${CMAKE_CURRENT_BINARY_DIR}/template_modes)
  file(READ docs/modes.md page)
  foreach(name turns.h turns.c)
    string(FIND "${page}" "/* ${name}" begin)
    string(SUBSTRING "${page}" ${begin} -1 text)
    string(FIND "${text}" "\n```" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    file(GENERATE OUTPUT ${template}/${name} CONTENT "${text}\n")
  endforeach()
  string(REGEX MATCH "\n    (X[(]4, [^\n]*)\n" row "${page}")
  file(READ engine/modes/mode_table.c table)
  string(REPLACE "MODE_TABLE(MODES)" "#define ALL(X) MODES(X) ${CMAKE_MATCH_1}\nMODE_TABLE(ALL)" table "${table}")
  file(GENERATE OUTPUT ${template}/mode_table.c CONTENT "#include \"turns.h\"\n${table}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/modes.md engine/modes/mode_table.c)
  target_sources(test_mode_template PRIVATE ${template}/mode_table.c ${template}/turns.c)
endif()

# Scripts: lint, the installed library, the program as its users call it. They find the build in $CELLAR_BUILD.
foreach(kind lint spec ${kinds})
  list(TRANSFORM wings APPEND /${kind}/test_*.sh OUTPUT_VARIABLE test_scripts)
  file(GLOB test_scripts CONFIGURE_DEPENDS ${test_scripts})
  foreach(script ${test_scripts})
    get_filename_component(name ${script} NAME_WE)
    if("${kind}/${name}" MATCHES "${TEST_MATCH}")
      string(REGEX REPLACE "^test_" "" short ${name})
      cellar_test(${kind} ${short} bash ${script})
    endif()
  endforeach()
endforeach()

# Seeds of `cellar sim`: workload, mode, which, and how many of them twice.
foreach(seeds "cells record 1..60 12" "cells cell 1..60 12" "cells crest 1..70 14"
        "smallbank record 1..40 8" "smallbank cell 1..40 8" "smallbank crest 1..60 10"
        "ycsb record 1..30 6" "ycsb cell 1..30 6" "ycsb crest 1..30 6"
        "tpcc record 1..16 4" "tpcc cell 1..16 4" "tpcc crest 1..20 4"
        "cells cellar 1..20 2" "smallbank cellar 1..10 2" "ycsb cellar 1..10 2" "tpcc cellar 1..6 1"
        "cells ford 1..20 2" "smallbank ford 1..10 2" "ycsb ford 1..10 2" "tpcc ford 1..6 1"
        "cells motor 1..20 2" "smallbank motor 1..10 2" "ycsb motor 1..10 2" "tpcc motor 1..6 1"
        "sessions record 1..20 2" "sessions cell 1..20 2" "sessions crest 1..30 3" "sessions cellar 1..20 2"
        "sessions ford 1..15 2" "sessions motor 1..15 2"
        "ranges record 1..12 1" "ranges cell 1..12 1" "ranges crest 1..15 1" "ranges cellar 1..12 1"
        "ranges ford 1..10 1" "ranges 2pl 1..8 1"
        "cells 2pl 1..30 4" "smallbank 2pl 1..10 2" "ycsb 2pl 1..10 2" "tpcc 2pl 1..6 1")
  string(REPLACE " " ";" seeds "${seeds}")
  list(GET seeds 0 workload)
  list(GET seeds 1 mode)
  if("sim/seeds_${workload}_${mode}" MATCHES "${TEST_MATCH}" AND (LAB OR NOT mode MATCHES "^(ford|motor|2pl)$"))
    cellar_test(sim seeds_${workload}_${mode} bash ${PROJECT_SOURCE_DIR}/test/sim/seeds.sh ${seeds})
  endif()
endforeach()

# Real verbs, in a guest under QEMU; skipped where none can be had. One build does: it is the device that is tested, and
# `all` takes minutes.
if(TARGET PkgConfig::VERBS AND NOT (PLANTS OR ASAN OR UBSAN OR TSAN) AND "verbs/guest" MATCHES "${TEST_MATCH}")
  cellar_test(verbs guest bash ${PROJECT_SOURCE_DIR}/test/verbs/run.sh quick)
endif()
if(TARGET cellar AND TARGET test_ordered_queue)
  # All commands here: one with POST_BUILD leaves Ninja without a target of this name (CMake 3.25).
  set(here ${CMAKE_COMMAND} -E env CELLAR_BUILD=${CMAKE_CURRENT_BINARY_DIR})
  set(nightly COMMAND ${here} bash ${PROJECT_SOURCE_DIR}/test/verbs/run.sh all
      COMMAND ${here} bash -c "bash ${PROJECT_SOURCE_DIR}/test/cli/test_packages.sh fresh || [ $? -eq 77 ]"
      COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/aarch64.sh "^example[.]"
      COMMAND ${here} $<TARGET_FILE:test_ordered_queue> 1000000)
  if(TARGET test_sqlite_random)
    list(APPEND nightly COMMAND ${here} $<TARGET_FILE:test_sqlite_random> 200000 any
         COMMAND ${here} bash ${PROJECT_SOURCE_DIR}/test/sqlite/test_sqlite_tpcc.sh 1000 4 --customers 60 --items 1000
         COMMAND ${here} bash ${PROJECT_SOURCE_DIR}/test/sqlite/test_sqlite_logictest.sh 250 400 any
         COMMAND ${here} bash ${PROJECT_SOURCE_DIR}/test/sqlite/test_sqlite_keys.sh 50000 any)
  endif()
  add_custom_target(nightly ${nightly} VERBATIM USES_TERMINAL)
  add_dependencies(nightly cellar tests)
  if(TARGET test_sqlite_random)
    add_dependencies(nightly cellar_sqlite)
  endif()
endif()

# Databases on a file system that forgets what was not synced; in the other tests the disk lies, or the engine has a
# planted bug, which have to be found. No part of the product links libfuse. Skipped where nothing can be mounted.
pkg_check_modules(FUSE3 IMPORTED_TARGET fuse3)
if(FUSE3_FOUND AND TARGET cellar AND NOT (ASAN OR UBSAN OR TSAN OR CMAKE_CROSSCOMPILING) AND
   "fault/powerloss" MATCHES "${TEST_MATCH}")
  add_executable(forgetful test/powerloss/forgetful.c test/powerloss/unsynced.c)
  target_link_libraries(forgetful PRIVATE base PkgConfig::FUSE3)
  set(kind powerloss)
  rooms_of(test/powerloss/powerloss.c used)
  add_executable(powerloss test/powerloss/powerloss.c)
  target_link_options(powerloss PRIVATE ${PLAIN_PROGRAM})
  target_link_libraries(powerloss PRIVATE ${used} base)
  add_dependencies(powerloss forgetful cellar)
  add_dependencies(tests powerloss)
  cellar_test(fault powerloss powerloss 5 1)
  cellar_test(fault powerloss_lies powerloss 10 5 lies)
  if(PLANTS)
    cellar_test(fault powerloss_planted powerloss 60 1 durable_acked_early)
  endif()
endif()

foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  if("example/${name}" MATCHES "${TEST_MATCH}")
    cellar_test(example ${name} example_${name})
  endif()
endforeach()

# What tests run; what is left to `all` may need more.
add_custom_target(test_programs)
add_dependencies(test_programs tests)
foreach(program cellar cellar_static cellar_shared cellar_sqlite manpages)
  if(TARGET ${program})
    add_dependencies(test_programs ${program})
  endif()
endforeach()
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  if("example/${name}" MATCHES "${TEST_MATCH}")
    add_dependencies(test_programs example_${name})
  endif()
endforeach()
if("cli/test_peers" MATCHES "${TEST_MATCH}" AND NOT TSAN)
  add_dependencies(test_programs cellar-peers)
endif()

# Before each commit: what `scripts/test.sh` runs of this build.
add_custom_target(check COMMAND ${CMAKE_CTEST_COMMAND} -j 3 --output-on-failure -LE "^all$" USES_TERMINAL)
add_dependencies(check test_programs)

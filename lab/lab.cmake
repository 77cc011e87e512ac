# lab.cmake - the rooms of the laboratory. CMakeLists.txt includes it, unless LAB is off.

room(locks SOURCES ${locks_sources} LINKS lockmgr fabric base)
room(modes SOURCES ${modes_sources} LINKS engine lockmgr storage durable fabric base)
room(lockbench SOURCES ${lockbench_sources}
    LINKS cli trace history engine lockmgr storage fabric base PkgConfig::JANSSON)
# The published figures and targets (lab/exp/data) are part of the program.
file(GLOB exp_data CONFIGURE_DEPENDS lab/exp/data/*.json)
string(REPLACE ";" "$<SEMICOLON>" exp_data_list "${exp_data}")
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exp_data_texts.c
  COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_CURRENT_BINARY_DIR}/exp_data_texts.c "-DFILES=${exp_data_list}"
          -P ${PROJECT_SOURCE_DIR}/lab/scripts/embed.cmake
  DEPENDS ${exp_data} lab/scripts/embed.cmake VERBATIM)
room(exp SOURCES ${exp_sources} ${CMAKE_CURRENT_BINARY_DIR}/exp_data_texts.c
     LINKS lockbench bench cli trace history workload engine lockmgr storage fabric base PkgConfig::JANSSON)

# The commit that a page of figures names: looked up by each build, written when it is another.
add_custom_target(commit BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/commit/cellar_commit.h
  COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_CURRENT_BINARY_DIR}/commit/cellar_commit.h -P ${PROJECT_SOURCE_DIR}/lab/scripts/commit.cmake
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
add_dependencies(exp commit)
target_include_directories(exp PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/commit)

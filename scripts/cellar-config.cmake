# find_package(cellar): the target cellar::cellar, the shared library with its header.
include("${CMAKE_CURRENT_LIST_DIR}/cellar-targets.cmake")

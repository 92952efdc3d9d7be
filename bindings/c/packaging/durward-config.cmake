# find_package(durward): the targets durward::durward (shared) and durward::static. Paths are relative, so the folder may be moved.
get_filename_component(_durward_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(durward_VERSION "@VERSION@")

if(NOT TARGET durward::durward)
  add_library(durward::durward SHARED IMPORTED)
  set_target_properties(durward::durward PROPERTIES
    IMPORTED_LOCATION "${_durward_prefix}/lib/libdurward.so.@SONAME@"
    IMPORTED_SONAME "libdurward.so.@SONAME@"
    INTERFACE_INCLUDE_DIRECTORIES "${_durward_prefix}/include")
endif()

if(NOT TARGET durward::static)
  find_package(Threads REQUIRED)
  add_library(durward::static STATIC IMPORTED)
  set_target_properties(durward::static PROPERTIES
    IMPORTED_LOCATION "${_durward_prefix}/lib/libdurward.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_durward_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;gcc_s;util;m;dl")
endif()

unset(_durward_prefix)

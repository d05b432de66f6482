# The files of runtime/ become part of the cameo program as text: it writes them into what it emits.
file(GLOB runtime_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/*.[ch])
set(CAMEO_EMBEDDED_SOURCES)
if(runtime_files)
  set(embedded ${CMAKE_BINARY_DIR}/codegen/embedded_files.c)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} "-DFILES=${runtime_files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${runtime_files} ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM)
  set(CAMEO_EMBEDDED_SOURCES ${embedded})
endif()

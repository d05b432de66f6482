# Files that become part of the cameo program as text. cameo_embed(VARIABLE SOURCE ARRAY FILE...) sets VARIABLE to a
# generated C source that defines ARRAY (base/embedded.h).
function(cameo_embed variable source array)
  set(out ${CMAKE_BINARY_DIR}/${source})
  get_filename_component(folder ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DARRAY=${array} "-DFILES=${ARGN}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM)
  set(${variable} ${out} PARENT_SCOPE)
endfunction()

# What it writes into what it emits.
file(GLOB runtime_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/*.[ch])
cameo_embed(CAMEO_EMBEDDED_SOURCES codegen/embedded_files.c embedded_files ${runtime_files})
# What `cameo explain` says, a page a rule.
file(GLOB lint_page_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/passes/lint/explain/*.txt)
cameo_embed(CAMEO_LINT_PAGES passes/lint_pages.c lint_pages ${lint_page_files})

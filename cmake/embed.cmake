# Puts text files into a library of the project:
#   rooftune_embed(TARGET rooftune_ops FUNCTION matmul_cuda_sources FILES matmul/cuda/*.cu ...)
# makes `std::span<const EmbeddedFile> rooftune::FUNCTION()` (base/embedded.h), the files named by
# their paths from src/. Run as a script (-DOUTPUT= -DFUNCTION= -DROOT= -DLIST=) it writes the file.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(rooftune_embed)
    cmake_parse_arguments(EMBED "" "TARGET;FUNCTION" "FILES" ${ARGN})
    file(GLOB files CONFIGURE_DEPENDS ${EMBED_FILES})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${EMBED_FUNCTION}.cc)
    string(REPLACE ";" "," list "${files}")
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${EMBED_FUNCTION}
              -DROOT=${PROJECT_SOURCE_DIR}/src "-DLIST=${list}"
              -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${PROJECT_SOURCE_DIR}/cmake/embed.cmake ${files}
      COMMENT "Embedding the sources of ${EMBED_FUNCTION}"
      VERBATIM)
    target_sources(${EMBED_TARGET} PRIVATE ${output})
  endfunction()
  return()
endif()

string(REPLACE "," ";" files "${LIST}")
set(rows)
foreach(file IN LISTS files)
  file(READ ${file} text)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/embed.cmake.
#include <span>

#include \"base/embedded.h\"

namespace rooftune {

std::span<const EmbeddedFile> ${FUNCTION}();

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace rooftune
")

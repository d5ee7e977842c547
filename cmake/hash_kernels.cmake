# Writes a C++ file with one hash for each kernel source: what a CPU candidate runs, and so the
# version under which its measurements are kept.
#   cmake -DROOT=<project> -DSETTINGS=<text> -DOUTPUT=<file.cc> -DDEPFILE=<file.d>
#         -P hash_kernels.cmake
# A hash covers the file <ROOT>/src/ops/<op>/cpu/<name>-inl.h, the project's headers that it
# includes, directly or not, the parameters that kernels_<isa>.cc beside it gives to the kernel (the
# rows that name it, and all that stands outside of rows), and SETTINGS (the compiler and its
# flags). Comments, line breaks and indentation do not count, or formatting the code would throw
# away everything measured.
cmake_minimum_required(VERSION 3.25)

# Sets `out` to the text of a file with one spelling for all that differ in form only.
function(read_meaning file out)
  file(READ ${file} text)
  # What CMake's lists would stumble over is given other names, for good: only the hash is wanted.
  string(ASCII 1 semicolon)
  string(ASCII 2 open)
  string(ASCII 3 close)
  string(REPLACE ";" "${semicolon}" text "${text}")
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REPLACE "\\\n" " " text "${text}")
  # Strings and characters are looked for as well: they may hold what looks like a comment.
  set(string "\"([^\"\\\n]|\\\\.)*\"")
  set(character "'([^'\\\n]|\\\\.)'")
  set(block_comment "/\\*([^*]|\\*+[^*/])*\\*+/")
  string(REGEX MATCHALL "${string}|${character}|//[^\n]*|${block_comment}" tokens "${text}")
  set(kept "\n")
  foreach(token IN LISTS tokens)
    string(FIND "${text}" "${token}" begin)
    string(LENGTH "${token}" length)
    math(EXPR end "${begin} + ${length}")
    if(token MATCHES "^/")
      string(SUBSTRING "${text}" 0 ${begin} before)
      string(APPEND before " ")
    else()
      string(SUBSTRING "${text}" 0 ${end} before)
    endif()
    string(APPEND kept "${before}")
    string(SUBSTRING "${text}" ${end} -1 text)
  endforeach()
  string(APPEND kept "${text}")
  # A directive ends with its line: marked by @, which is no character of C++.
  string(REGEX REPLACE "\n[ \t]*(#[^\n]*)" "\n@\\1@" kept "${kept}")
  string(REGEX REPLACE "[ \t\r\n]+" " " kept "${kept}")
  # Here, unlike around + or &, no two tokens can become another one.
  string(REGEX REPLACE " ?([(){},@${semicolon}${open}${close}]) ?" "\\1" kept "${kept}")
  string(REPLACE ",}" "}" kept "${kept}")
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()

# Appends to the list `out` a file of the project and all that it includes.
function(collect file out)
  set(collected ${${out}})
  if(NOT file IN_LIST collected)
    list(APPEND collected ${file})
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" included "${line}")
      foreach(candidate src/${included} include/${included})
        if(EXISTS ${ROOT}/${candidate})
          collect(${candidate} collected)
        endif()
      endforeach()
    endforeach()
  endif()
  set(${out} ${collected} PARENT_SCOPE)
endfunction()

# Sets `out` to what the tables in the folder of `kernel` say about it.
function(read_parameters kernel out)
  get_filename_component(folder ${kernel} DIRECTORY)
  get_filename_component(name ${kernel} NAME)
  string(REPLACE "-inl.h" "" name ${name})
  file(GLOB units ${ROOT}/${folder}/kernels_*.cc)
  list(FILTER units EXCLUDE REGEX "_test\\.cc$")
  # Braces nest once: the entry points by type.
  set(row "{\"[^\"]*\",\"[^\"]*\"([^{}]|{[^{}]*})*}")
  set(parameters)
  foreach(unit IN LISTS units)
    read_meaning(${unit} text)
    string(REGEX MATCHALL "${row}" rows "${text}")
    string(REGEX REPLACE "${row},?" "" text "${text}")
    string(REGEX REPLACE "@#include[^@]*@" "" text "${text}")
    list(FILTER rows INCLUDE REGEX "^{\"[^\"]*\",\"${name}\"")
    string(APPEND parameters "${text}\n${rows}\n")
  endforeach()
  set(${out} "${parameters}" PARENT_SCOPE)
endfunction()

file(GLOB kernels RELATIVE ${ROOT} ${ROOT}/src/ops/*/cpu/*-inl.h)
file(GLOB all RELATIVE ${ROOT} ${ROOT}/src/ops/*/cpu/kernels_*.cc)
list(FILTER all EXCLUDE REGEX "_test\\.cc$")
set(rows)
foreach(kernel IN LISTS kernels)
  set(files)
  collect(${kernel} files)
  list(APPEND all ${files})
  list(SORT files)
  read_parameters(${kernel} meaning)
  string(PREPEND meaning "${SETTINGS}\n")
  foreach(file IN LISTS files)
    if(NOT DEFINED "hash_of_${file}")
      read_meaning(${ROOT}/${file} text)
      string(SHA256 "hash_of_${file}" "${text}")
    endif()
    string(APPEND meaning "\n${file} ${hash_of_${file}}")
  endforeach()
  string(SHA256 hash "${meaning}")
  # 64 bits: enough against an accident, short enough to be read in `rooftune why`.
  string(SUBSTRING ${hash} 0 16 hash)
  string(REGEX REPLACE "^src/ops/(.*)/cpu/(.*)-inl\\.h$" "\\1/\\2" name ${kernel})
  list(APPEND rows "    {\"${name}\", \"${hash}\"},\n")
endforeach()
list(LENGTH rows count)
list(JOIN rows "" rows)

file(WRITE ${OUTPUT} "// Made by cmake/hash_kernels.cmake.
#include \"ops/kernel_hashes.h\"

#include <array>
#include <utility>

namespace rooftune {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, ${count}> kHashes = {{
${rows}}};

}  // namespace

std::string_view kernel_source_hash(std::string_view op, std::string_view source) {
  for (const auto& [name, hash] : kHashes) {
    if (name.size() == op.size() + 1 + source.size() && name.starts_with(op) &&
        name[op.size()] == '/' && name.ends_with(source)) {
      return hash;
    }
  }
  return {};
}

}  // namespace rooftune
")

list(REMOVE_DUPLICATES all)
list(TRANSFORM all PREPEND "${ROOT}/")
list(PREPEND all "${OUTPUT}:")
list(TRANSFORM all REPLACE " " "\\\\ ")
list(JOIN all " \\\n  " dependencies)
file(WRITE ${DEPFILE} "${dependencies}\n")

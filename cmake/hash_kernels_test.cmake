# cmake -DWORK=<folder> -P hash_kernels_test.cmake: what changes a kernel's hash, and what does not.
cmake_minimum_required(VERSION 3.25)

set(folder ${WORK}/src/ops/matmul/cpu)

# Sets `out` to the hash of the kernel `one` in a tree of its own: one-inl.h includes shared.h,
# which includes dtype.h; two-inl.h stands beside them, and a table with `rows`.
set(rows "    {\"one_8\", \"one\", one<k8>},\n    {\"two_8\", \"two\", two<k8>},\n")
set(constant "constexpr Shape k8 = {.rows = 8};\n")
function(hash_of out one shared dtype settings)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${folder}/one-inl.h "#include \"ops/matmul/cpu/shared.h\"\n#include <cmath>\n${one}")
  file(WRITE ${folder}/shared.h "#include \"rooftune/dtype.h\"\n${shared}")
  file(WRITE ${folder}/two-inl.h "int two() { return 2; }\n")
  file(WRITE ${folder}/kernels_portable.cc "#include \"ops/matmul/cpu/one-inl.h\"\n${constant}"
       "constexpr Row kRows[] = {\n${rows}};\n")
  file(WRITE ${WORK}/include/rooftune/dtype.h "${dtype}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} "-DSETTINGS=${settings}" -DOUTPUT=${WORK}/out.cc
            -DDEPFILE=${WORK}/out.d -P ${CMAKE_CURRENT_LIST_DIR}/hash_kernels.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${WORK}/out.cc row REGEX "\"matmul/one\"")
  if(NOT row MATCHES "\"([0-9a-f]+)\"},$")
    message(FATAL_ERROR "no row for matmul/one in ${WORK}/out.cc: '${row}'")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

set(one "int one(int a) {\n  return a + g('\"', \"// kept\");  // why\n}\n")
set(shared "int g(char, const char*);\n")
set(dtype "enum class DType { f32, f64 };\n")
hash_of(base "${one}" "${shared}" "${dtype}" "GNU 12.2 -O3")

function(expect_same name one shared dtype settings)
  hash_of(hash "${one}" "${shared}" "${dtype}" "${settings}")
  if(NOT hash STREQUAL base)
    message(SEND_ERROR "${name}: the hash should be the same")
  endif()
endfunction()
function(expect_other name one shared dtype settings)
  hash_of(hash "${one}" "${shared}" "${dtype}" "${settings}")
  if(hash STREQUAL base)
    message(SEND_ERROR "${name}: the hash should differ")
  endif()
endfunction()

set(changed "/* A longer * comment // of\n two lines **/\nint one(\n    int a)\n{\n")
string(APPEND changed "\treturn a + g( '\"', \"// kept\" );\n\n\n}\n// the end")
expect_same("comments and formatting" "${changed}" "${shared}" "${dtype}" "GNU 12.2 -O3")

string(REPLACE "a + g" "a - g" changed "${one}")
expect_other("a token" "${changed}" "${shared}" "${dtype}" "GNU 12.2 -O3")
string(REPLACE "// kept" "// lost" changed "${one}")
expect_other("a string that looks like a comment" "${changed}" "${shared}" "${dtype}" "GNU 12.2 -O3")
expect_other("a header" "${one}" "int g(char, const char*, int = 1);\n" "${dtype}" "GNU 12.2 -O3")
expect_other("a header of a header" "${one}" "${shared}" "enum class DType { f32 };\n" "GNU 12.2 -O3")
expect_other("the compiler" "${one}" "${shared}" "${dtype}" "GNU 13.1 -O3")

function(with_table what rows constant expected)
  hash_of(hash "${one}" "${shared}" "${dtype}" "GNU 12.2 -O3")
  if(hash STREQUAL base)
    set(found same)
  else()
    set(found other)
  endif()
  if(NOT found STREQUAL expected)
    message(SEND_ERROR "${what}: expected the ${expected} hash")
  endif()
endfunction()
with_table("a row of another kernel" "${rows}{\"two_9\", \"two\", two<9>},\n" "${constant}" same)
with_table("a row of this kernel" "${rows}{\"one_9\", \"one\", one<9>},\n" "${constant}" other)
string(REPLACE "rows = 8" "rows = 9" changed "${constant}")
with_table("a constant of the table" "${rows}" "${changed}" other)

hash_of(split "#define A\nB\n" "${shared}" "${dtype}" "")
hash_of(joined "#define A B\n" "${shared}" "${dtype}" "")
if(split STREQUAL joined)
  message(SEND_ERROR "the end of a directive must count")
endif()

file(READ ${WORK}/out.d dependencies)
foreach(file src/ops/matmul/cpu/one-inl.h src/ops/matmul/cpu/shared.h
             src/ops/matmul/cpu/kernels_portable.cc include/rooftune/dtype.h)
  if(NOT dependencies MATCHES "${WORK}/${file}")
    message(SEND_ERROR "${file} is missing from the DEPFILE:\n${dependencies}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})

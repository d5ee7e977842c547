# Instruction sets and versions of the CPU kernels; included where rooftune_ops is made.

# One translation unit for each instruction set, with flags that no other file may have. Those of
# other architectures than the compiler's are left out.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#ifndef __x86_64__\n#error\n#endif\nint main() {}" ROOFTUNE_X86_64)
check_cxx_source_compiles("#ifndef __aarch64__\n#error\n#endif\nint main() {}" ROOFTUNE_AARCH64)

set(built portable)
if(ROOFTUNE_X86_64)
  target_compile_definitions(rooftune_ops PUBLIC ROOFTUNE_X86_KERNELS)
  list(APPEND built avx2 avx512 avx512_vnni avx512_bf16 amx)
elseif(ROOFTUNE_AARCH64)
  list(APPEND built neon)
endif()

# Unoptimised kernels help only those who debug them.
set(optimised $<$<NOT:$<CONFIG:Debug>>:-O3>)
set(flags_portable ${optimised})
set(flags_avx2 -mavx2 -mfma -mf16c ${optimised})
set(flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma ${optimised})
set(flags_avx512_vnni -mavx512vnni ${flags_avx512})
set(flags_avx512_bf16 -mavx512bf16 ${flags_avx512})
set(flags_amx -mamx-tile -mamx-bf16 -mamx-int8 ${flags_avx512})
set(flags_neon ${optimised})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Its scheduler before register allocation loads so far ahead that sums of a register tile have to
  # wait in memory.
  list(APPEND flags_neon -fno-schedule-insns)
endif()
foreach(isa portable neon avx2 avx512 avx512_vnni avx512_bf16 amx)
  file(GLOB units CONFIGURE_DEPENDS */cpu/kernels_${isa}.cc */cpu/kernels_${isa}_half.cc)
  if(isa IN_LIST built)
    set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS "${flags_${isa}}")
  else()
    set_source_files_properties(${units} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endforeach()

set(built_flags)
foreach(isa IN LISTS built)
  list(APPEND built_flags ${flags_${isa}})
endforeach()

# The hash of each kernel: see hash_kernels.cmake. A kernel that is added or renamed makes the glob
# differ and configures anew; a header that changes is known from the DEPFILE.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(hash_settings "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
                  "${CMAKE_SYSTEM_PROCESSOR}" "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}"
                  "${built_flags} ${ROOFTUNE_SANITIZE}")
string(REPLACE ";" " " hash_settings "${hash_settings}")
file(GLOB kernels CONFIGURE_DEPENDS */cpu/*-inl.h */cpu/kernels_*.cc)
list(FILTER kernels EXCLUDE REGEX "_test\\.cc$")
set(hashes ${CMAKE_CURRENT_BINARY_DIR}/kernel_hashes.cc)
add_custom_command(
  OUTPUT ${hashes}
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DSETTINGS=${hash_settings}"
          -DOUTPUT=${hashes} -DDEPFILE=${hashes}.d
          -P ${PROJECT_SOURCE_DIR}/cmake/hash_kernels.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/hash_kernels.cmake ${kernels}
  DEPFILE ${hashes}.d
  COMMENT "Hashing kernel sources"
  VERBATIM)
target_sources(rooftune_ops PRIVATE ${hashes})

if(ROOFTUNE_TESTS)
  set_source_files_properties(kernel_hashes_test.cc PROPERTIES COMPILE_DEFINITIONS
                              ROOFTUNE_OPS_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}")
  add_test(NAME hash_kernels_test
           COMMAND ${CMAKE_COMMAND} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/hash_kernels_test
                   -P ${PROJECT_SOURCE_DIR}/cmake/hash_kernels_test.cmake)
endif()

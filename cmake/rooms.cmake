# A room is a folder of src/ that becomes one library target; a test sits beside the file it tests.
#   rooftune_room(NAME tune DIRS . SEES rooftune_store ... LINK SQLite::SQLite3 ...)
# makes rooftune_<NAME> from every *.cc of DIRS except *_test.cc, and the test program
# <NAME>_test from those. Globs are checked at every build: a new file needs no edit here.

add_library(rooftune_flags INTERFACE)
target_compile_features(rooftune_flags INTERFACE cxx_std_23)
target_compile_options(rooftune_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror)
target_include_directories(rooftune_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_SOURCE_DIR}/src)
if(ROOFTUNE_SANITIZE)
  target_compile_options(rooftune_flags INTERFACE -fsanitize=${ROOFTUNE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rooftune_flags INTERFACE -fsanitize=${ROOFTUNE_SANITIZE})
endif()

# Registers a test program with ctest as one test; `./dev test NAME` and ctest -R find it by name.
function(rooftune_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE rooftune_flags ${TEST_LINK} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
endfunction()

function(rooftune_room)
  cmake_parse_arguments(ROOM "" "NAME" "DIRS;SEES;LINK" ${ARGN})
  set(sources)
  set(tests)
  foreach(dir IN LISTS ROOM_DIRS)
    file(GLOB found CONFIGURE_DEPENDS ${dir}/*.cc)
    foreach(file IN LISTS found)
      if(file MATCHES "_test\\.cc$")
        list(APPEND tests ${file})
      else()
        list(APPEND sources ${file})
      endif()
    endforeach()
  endforeach()
  add_library(rooftune_${ROOM_NAME} STATIC ${sources})
  target_link_libraries(rooftune_${ROOM_NAME} PRIVATE $<BUILD_INTERFACE:rooftune_flags>
                        PUBLIC ${ROOM_SEES} ${ROOM_LINK})
  set_target_properties(rooftune_${ROOM_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ROOFTUNE_TESTS AND tests)
    rooftune_test(${ROOM_NAME}_test SOURCES ${tests} LINK rooftune_${ROOM_NAME})
  endif()
endfunction()

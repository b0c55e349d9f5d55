# Tests mirror src/: tests/FOLDER/NOUN_test.c is one cmocka program and one CTest test named FOLDER.NOUN. A name that ends in
# _grad_test.c is linked with the engine compiled in double, so that finite differences are exact to about 1e-8.
heed_library(heed_double HD_REAL_DOUBLE)
file(GLOB heed_test_files CONFIGURE_DEPENDS tests/*/*_test.c)
set(heed_patience 300) # seconds; sanitized ones take longer
set(heed_sanitized 0)
if(HEED_SANITIZE)
    set(heed_patience 1200)
    set(heed_sanitized 1)
endif()
# Loaded into the program by tests/cli/memory_test.c
add_library(heed_fail_memory MODULE tests/cli/fail_memory.cc)
target_link_libraries(heed_fail_memory PRIVATE ${CMAKE_DL_LIBS})
foreach(file IN LISTS heed_test_files)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    cmake_path(GET file STEM noun)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    set(target test_${folder}_${noun})
    add_executable(${target} ${file})
    cmake_path(REPLACE_EXTENSION file cc OUTPUT_VARIABLE beside) # its part in C++, if it has one
    if(EXISTS ${beside})
        target_sources(${target} PRIVATE ${beside})
    endif()
    target_include_directories(${target} PRIVATE tests)
    if(noun MATCHES "_grad$")
        target_link_libraries(${target} PRIVATE heed_double PkgConfig::CMOCKA)
    else()
        target_link_libraries(${target} PRIVATE heed_static PkgConfig::CMOCKA)
    endif()
    if(folder STREQUAL "serve")
        target_link_libraries(${target} PRIVATE heed_serve)
    endif()
    if(folder STREQUAL "cli") # includes sources of the program
        target_link_libraries(${target} PRIVATE PkgConfig::YAML)
        add_dependencies(${target} heed_fail_memory)
    endif()
    target_compile_definitions(${target} PRIVATE HEED_SHARED="${HEED_SHARED}" HEED_SOURCE="${PROJECT_SOURCE_DIR}" HEED_PROGRAM="$<TARGET_FILE:heed_program>" HEED_FAIL_MEMORY="$<TARGET_FILE:heed_fail_memory>"
        HEED_SANITIZED=${heed_sanitized}
        HEED_MPI=$<STREQUAL:${heed_without_mpi},no_> HEED_CUDA=$<BOOL:${heed_cuda}>
        HEED_NCCL=$<STREQUAL:${heed_without_nccl},no_> HEED_XZ=$<STREQUAL:${heed_without_xz},no_> HEED_ZSTD=$<STREQUAL:${heed_without_zstd},no_>
        HEED_PNG=$<STREQUAL:${heed_without_png},no_> HEED_JPEG=$<STREQUAL:${heed_without_jpeg},no_>
        HEED_SNDFILE=$<STREQUAL:${heed_without_sndfile},no_> HEED_MICROHTTPD=$<STREQUAL:${heed_without_microhttpd},no_>)
    add_test(NAME ${folder}.${noun}
        COMMAND ${PROJECT_SOURCE_DIR}/tests/logged.sh ${PROJECT_BINARY_DIR}/said/${folder}/${noun} $<TARGET_FILE:${target}>)
    list(APPEND heed_tests ${folder}.${noun})
    set_tests_properties(${folder}.${noun} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${heed_patience}
        ENVIRONMENT "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0")
    if(noun MATCHES "^cuda_") # a kernel on the device against the cpu's: skipped where there is no device
        set_tests_properties(${folder}.${noun} PROPERTIES LABELS kernel)
    endif()
endforeach()
if(heed_cuda)
    heed_cuda_tests()
endif()
add_test(NAME serve.unit COMMAND ${PROJECT_SOURCE_DIR}/tests/serve/unit.sh ${PROJECT_BINARY_DIR}/heed.service)
set_tests_properties(serve.unit PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME layers COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-layers)
add_test(NAME layers.self COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-layers --self-test)
# a thousand processes, each of which takes seconds with sanitizers; other compilers fuse other sums
if(NOT HEED_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_test(NAME digests COMMAND ${PROJECT_SOURCE_DIR}/tests/digests/run $<TARGET_FILE:heed_program>)
    set_tests_properties(digests PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${heed_patience} PROCESSORS 2)
endif()
# The page of heed serve in a browser, which is not what sanitizers are for.
if(HEED_PYTHON AND NOT HEED_SANITIZE)
    add_test(NAME serve.page COMMAND ${HEED_PYTHON} ${PROJECT_SOURCE_DIR}/tests/serve/page/page_test.py $<TARGET_FILE:heed_program>)
else()
    add_test(NAME serve.page COMMAND sh -c "echo 'skipped: no python3, or sanitizers'; exit 77")
endif()
set_tests_properties(serve.page PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
# Last: it reads what the tests that the page names have said.
add_test(NAME lectures COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-lectures --build ${PROJECT_BINARY_DIR})
set_tests_properties(lectures PROPERTIES DEPENDS "${heed_tests}" TIMEOUT ${heed_patience})
add_test(NAME lectures.self COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-lectures --self-test)
include(cmake/api.cmake)

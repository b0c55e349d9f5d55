# What uses heed.h from outside: the examples, built against the shared library as other programs are; an installed
# copy; and the Python module.
file(GLOB heed_examples CONFIGURE_DEPENDS examples/*.c)
foreach(file IN LISTS heed_examples)
    cmake_path(GET file STEM noun)
    add_executable(example_${noun} ${file})
    target_include_directories(example_${noun} PRIVATE include)
    target_link_libraries(example_${noun} PRIVATE heed m)
endforeach()

add_executable(tiny_model tests/api/tiny_model.c)
target_include_directories(tiny_model PRIVATE tests)
target_link_libraries(tiny_model PRIVATE heed_static)

set(heed_flags "")
if(HEED_SANITIZE)
    set(heed_flags -fsanitize=${HEED_SANITIZE})
endif()
add_test(NAME api.installed COMMAND ${PROJECT_SOURCE_DIR}/tests/api/installed_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
    $<TARGET_FILE:tiny_model> ${CMAKE_C_COMPILER} ${heed_flags})
set_tests_properties(api.installed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

# Without sanitizers, which must be in a program from its start, and Python is not built with them.
if(HEED_PYTHON AND NOT HEED_SANITIZE)
    add_test(NAME api.python COMMAND ${HEED_PYTHON} ${PROJECT_SOURCE_DIR}/tests/api/python_test.py $<TARGET_FILE:heed>
        $<TARGET_FILE:heed_program> $<TARGET_FILE:tiny_model>)
else()
    add_test(NAME api.python COMMAND sh -c "echo 'skipped: no python3, or sanitizers'; exit 77")
endif()
if(HEED_PYTHON AND NOT HEED_SANITIZE AND heed_without_microhttpd) # which means that there is libmicrohttpd
    add_test(NAME serve.libre_clients COMMAND ${HEED_PYTHON} ${PROJECT_SOURCE_DIR}/tests/serve/libre_clients_test.py
        $<TARGET_FILE:heed_program> $<TARGET_FILE:tiny_model>)
    add_test(NAME serve.schemathesis COMMAND ${HEED_PYTHON} ${PROJECT_SOURCE_DIR}/tests/serve/schemathesis_test.py
        $<TARGET_FILE:heed_program> $<TARGET_FILE:tiny_model>)
    set_tests_properties(serve.libre_clients serve.schemathesis PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
set_tests_properties(api.python PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

# Clients from pip, in this Python or in that of HEED_CLIENTS in the environment.
if(HEED_PYTHON AND heed_without_microhttpd STREQUAL "no_")
    add_test(NAME serve.openai_clients COMMAND ${HEED_PYTHON} ${PROJECT_SOURCE_DIR}/tests/serve/openai_clients_test.py
        $<TARGET_FILE:heed_program>)
else()
    add_test(NAME serve.openai_clients COMMAND sh -c "echo 'skipped: no python3, or no libmicrohttpd'; exit 77")
endif()
set_tests_properties(serve.openai_clients PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

add_test(NAME api.build COMMAND ${PROJECT_SOURCE_DIR}/tests/api/build_test.sh ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})

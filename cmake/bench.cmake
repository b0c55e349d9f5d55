# Benchmarks: `make bench`. Not part of the default build.
foreach(noun step product decode published)
    add_executable(bench_${noun} EXCLUDE_FROM_ALL bench/${noun}.c)
    target_link_libraries(bench_${noun} PRIVATE heed_static ${CMAKE_DL_LIBS})
endforeach()
add_custom_target(bench COMMAND ${PROJECT_SOURCE_DIR}/bench/run ${CMAKE_BINARY_DIR} ${HEED_SHARED} DEPENDS heed_program bench_step bench_product bench_decode bench_published USES_TERMINAL)

# libFuzzer targets, for clang with HEED_FUZZ=ON. Each compiles the few sources it needs itself, so that all of them are
# instrumented and none of the rest of the library has to be.
if(HEED_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(WARNING "HEED_FUZZ needs clang, the compiler is ${CMAKE_C_COMPILER_ID}: no fuzz targets")
elseif(HEED_FUZZ)
    add_executable(heed_fuzz_safetensors
        tests/fuzz/safetensors_fuzz.c
        src/base/status.c src/base/mem.c src/base/arena.c src/base/file.c src/base/json.c
        src/tensor/tensor.c src/tensor/safetensors_read.c)
    set_target_properties(heed_fuzz_safetensors PROPERTIES OUTPUT_NAME fuzz_safetensors)
    target_include_directories(heed_fuzz_safetensors PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(heed_fuzz_safetensors PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    target_link_options(heed_fuzz_safetensors PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(heed_fuzz_safetensors PRIVATE PkgConfig::JANSSON Threads::Threads m)
endif()

# libFuzzer targets, for clang with HEED_FUZZ=ON. Those of safetensors and of published tokenisers compile the few sources
# they need themselves; the others take the whole library, instrumented.
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

    heed_library(heed_fuzzed)
    set(heed_fuzzed_parts heed_fuzzed)
    foreach(isa IN LISTS heed_isas)
        list(APPEND heed_fuzzed_parts heed_fuzzed_${isa})
    endforeach()
    foreach(part IN LISTS heed_fuzzed_parts)
        target_compile_options(${part} PRIVATE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    endforeach()
    set(heed_fuzzed_cli option config spelling synonyms train_options)
    list(TRANSFORM heed_fuzzed_cli REPLACE "(.+)" "src/cli/\\1.c")
    foreach(noun files published)
        add_executable(heed_fuzz_${noun} tests/fuzz/${noun}_fuzz.c)
        set_target_properties(heed_fuzz_${noun} PROPERTIES OUTPUT_NAME fuzz_${noun})
        target_compile_options(heed_fuzz_${noun} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
        target_link_options(heed_fuzz_${noun} PRIVATE -fsanitize=fuzzer,address,undefined)
        target_link_libraries(heed_fuzz_${noun} PRIVATE heed_fuzzed PkgConfig::YAML)
    endforeach()
    target_sources(heed_fuzz_files PRIVATE ${heed_fuzzed_cli})

    file(GLOB heed_fuzzed_text CONFIGURE_DEPENDS src/base/*.c src/text/*.c src/text/*.cc)
    add_executable(heed_fuzz_tokeniser tests/fuzz/tokeniser_fuzz.c ${heed_fuzzed_text})
    set_target_properties(heed_fuzz_tokeniser PROPERTIES OUTPUT_NAME fuzz_tokeniser)
    target_include_directories(heed_fuzz_tokeniser PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(heed_fuzz_tokeniser PRIVATE HD_VERSION="${PROJECT_VERSION}")
    target_compile_options(heed_fuzz_tokeniser PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    target_link_options(heed_fuzz_tokeniser PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(heed_fuzz_tokeniser PRIVATE PkgConfig::JANSSON PkgConfig::UTF8PROC PkgConfig::ZLIB
        PkgConfig::SENTENCEPIECE Threads::Threads m)
endif()

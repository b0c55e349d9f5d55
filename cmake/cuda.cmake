# Which cards the kernels are compiled for. Machine code for a compute capability runs on later ones of the same major
# number: 8.0 serves 8.6 and 8.9, too. Newer cards compile the PTX of the oldest one at first use, and the driver keeps what it
# made. All machine code comes from that one PTX, so that a further capability costs the assembler alone; only the
# warpgroup kernels of 9.0 (9.0a, as NVIDIA calls what no other card has) are compiled a second time.
set(HEED_CUDA_ARCH "80;90a" CACHE STRING "compute capabilities to build kernels for, as in '90a' or '80;90a;120'; the first is the oldest")
set(heed_cuda_archs ${HEED_CUDA_ARCH})
list(TRANSFORM heed_cuda_archs REPLACE "[af]$" "")
list(REMOVE_DUPLICATES heed_cuda_archs)
list(SORT heed_cuda_archs COMPARE NATURAL)
foreach(arch IN LISTS heed_cuda_archs)
    if(NOT arch MATCHES "^[0-9]+$" OR arch LESS 80)
        message(FATAL_ERROR "HEED_CUDA_ARCH is '${HEED_CUDA_ARCH}': give compute capabilities without the dot, 80 or above, as in '90a' or '80;90a'")
    endif()
endforeach()
if(NOT heed_cuda_archs)
    message(FATAL_ERROR "HEED_CUDA_ARCH is empty: give compute capabilities as in '90a' or '80;90a'")
endif()
list(GET heed_cuda_archs 0 heed_cuda_oldest)

# heed_gencode(VAR arch...): flags for PTX of the oldest and machine code of each.
function(heed_gencode variable)
    set(code compute_${heed_cuda_oldest})
    foreach(arch IN LISTS ARGN)
        string(APPEND code ",sm_${arch}")
    endforeach()
    set(${variable} "SHELL:-gencode 'arch=compute_${heed_cuda_oldest},code=[${code}]'" PARENT_SCOPE)
endfunction()

# heed_cuda_objects(NAME file...): the kernels, in the two object libraries NAME and NAME_groups.
function(heed_cuda_objects name)
    set(groups ${ARGN})
    list(FILTER groups INCLUDE REGEX "/attend/long[a-z_]*\\.cu$") # what includes attend/group.h
    set(others ${ARGN})
    list(REMOVE_ITEM others ${groups})
    heed_gencode(flags ${heed_cuda_archs})
    set(group_flags ${flags})
    if(90 IN_LIST heed_cuda_archs)
        set(without ${heed_cuda_archs})
        list(REMOVE_ITEM without 90)
        heed_gencode(group_flags ${without})
        list(APPEND group_flags "SHELL:-gencode arch=compute_90a,code=sm_90a")
    endif()
    add_library(${name}_groups OBJECT ${groups})
    add_library(${name} OBJECT ${others})
    target_compile_options(${name}_groups PRIVATE ${group_flags})
    target_compile_options(${name} PRIVATE ${flags})
    list(TRANSFORM heed_cuda_archs REPLACE "(.+)" "X(\\1)" OUTPUT_VARIABLE numbers) # nvcc takes a definition apart at commas
    list(JOIN numbers "" numbers)
    foreach(part ${name} ${name}_groups)
        target_compile_options(${part} PRIVATE "SHELL:-DHD_BOTH='__host__ __device__'")
        target_compile_definitions(${part} PRIVATE HD_WITH_CUDA "HD_CUDA_ARCHS=${numbers}" "HD_CUDA_FOLDER=\"${CUDAToolkit_LIBRARY_DIR}\"")
        target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/src)
        set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endforeach()
endfunction()

# heed_cuda_tests(): card_test.c with a runtime and a cuBLASLt of its own, and what programs need to start.
function(heed_cuda_tests)
    set(runtime GetDeviceCount DriverGetVersion GetLastError GetDeviceProperties GetDeviceProperties_v2 GetDevice SetDevice
        GetDriverEntryPointByVersion MemGetInfo Malloc Free HostAlloc FreeHost StreamCreateWithFlags StreamDestroy StreamSynchronize
        MemcpyAsync MemsetAsync)
    list(TRANSFORM runtime PREPEND "-Wl,--wrap=cuda")
    target_link_options(test_backend_card PRIVATE ${runtime})
    add_library(fake_cublaslt MODULE tests/backend/fake_cublaslt.c)
    set_target_properties(fake_cublaslt PROPERTIES C_VISIBILITY_PRESET default PREFIX lib OUTPUT_NAME cublasLt SUFFIX .so.${CUDAToolkit_VERSION_MAJOR}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake)
    add_dependencies(test_backend_card fake_cublaslt)
    list(JOIN heed_cuda_archs " " archs)
    target_compile_definitions(test_backend_card PRIVATE HEED_FAKE="${PROJECT_BINARY_DIR}/fake" HEED_CUDA_ARCHS="${archs}")
    add_test(NAME cli.needed COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/needed_test.sh $<TARGET_FILE:heed_program> $<TARGET_FILE:heed>)
    set_tests_properties(cli.needed PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

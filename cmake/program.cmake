# The program: build/heed, one file per verb.
file(GLOB_RECURSE heed_cli CONFIGURE_DEPENDS src/cli/*.c)
add_executable(heed_program ${heed_cli})
set_target_properties(heed_program PROPERTIES OUTPUT_NAME heed)
target_link_libraries(heed_program PRIVATE heed_serve heed_static PkgConfig::YAML)

# Removes what the last install wrote, below DESTDIR where that is set. Run in the build folder.
if(NOT EXISTS install_manifest.txt)
    message(FATAL_ERROR "nothing was installed from here: there is no install_manifest.txt")
endif()
file(STRINGS install_manifest.txt files)
foreach(file IN LISTS files)
    message(STATUS "removing $ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
endforeach()

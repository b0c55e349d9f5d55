# Removes what `make install` wrote below PREFIX, below DESTDIR where that is set: cmake -DPREFIX=... -P uninstall.cmake, in the
# build folder. `make install` keeps a list for each prefix in installed/.
string(MAKE_C_IDENTIFIER "${PREFIX}" name)
set(list "installed/${name}.txt")
if(NOT EXISTS "${list}")
    message(FATAL_ERROR "nothing was installed to ${PREFIX} from this folder; PREFIX= names another place")
endif()
file(STRINGS "${list}" files)
foreach(file IN LISTS files)
    message(STATUS "removing $ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
endforeach()
file(REMOVE "${list}")

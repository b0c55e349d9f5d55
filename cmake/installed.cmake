# Keeps the list of what was just installed to PREFIX, for uninstall.cmake: cmake -DPREFIX=... -P installed.cmake, in the build
# folder.
string(MAKE_C_IDENTIFIER "${PREFIX}" name)
file(MAKE_DIRECTORY installed)
file(RENAME install_manifest.txt "installed/${name}.txt")

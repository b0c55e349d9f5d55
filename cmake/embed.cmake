# heed_embed_page(OUT NAME FILE): a source that defines NAME, the bytes of the HTML page FILE and a zero byte, is appended to the list
# OUT. The style sheets and scripts the page names, which lie beside it, are put into it. Made when configuring, which a change of any
# of them brings about, so that two libraries can share it.
function(heed_embed_page out name file)
    cmake_path(GET file PARENT_PATH folder)
    file(READ ${file} page)
    set(parts ${file})
    foreach(form "<link rel=\"stylesheet\" href=\"|\">|style" "<script src=\"|\"></script>|script")
        string(REPLACE "|" ";" form "${form}")
        list(GET form 0 before)
        list(GET form 1 behind)
        list(GET form 2 element)
        string(REGEX MATCHALL "${before}[a-z_.]+${behind}" links "${page}")
        foreach(link IN LISTS links)
            string(REGEX REPLACE "${before}([a-z_.]+)${behind}" "${folder}/\\1" part "${link}")
            list(APPEND parts ${part})
            file(READ ${part} text)
            string(REPLACE "${link}" "<${element}>\n${text}</${element}>" page "${page}")
        endforeach()
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${parts})
    string(HEX "${page}" bytes)
    string(REGEX REPLACE "([0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f])" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}") # a character: 0xe2 does not fit in a signed char
    set(to ${PROJECT_BINARY_DIR}/embedded/${name}.c)
    file(CONFIGURE OUTPUT ${to} @ONLY CONTENT
        "/* Made from ${file}. */\nextern const char ${name}[];\nconst char ${name}[] = {\n${bytes}0};\n")
    set(${out} ${${out}} ${to} PARENT_SCOPE)
endfunction()

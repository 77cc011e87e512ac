# embed.cmake - writes OUT, a C file with the bytes of each of FILES (a list): the table exp_data_texts of
# lab/exp/exp_data.h.
set(text "#include \"exp_data.h\"\n\n#include <stddef.h>\n")
set(rows)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND text "\nstatic const unsigned char ${name}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${name}\", ${name}, sizeof ${name}},\n")
endforeach()
string(APPEND text "\nconst struct exp_data_text exp_data_texts[] = {\n${rows}    {NULL, NULL, 0}};\n")
file(WRITE ${OUT} "${text}")

/* tiny_model FOLDER: makes the folder and a model with random weights in it, for tests in other languages. */
#include <string.h>

#include "api/tiny.h"

int main(int argc, char **argv)
{
    hd_err err = {0};
    if (argc != 2) return fputs("usage: tiny_model FOLDER\n", stderr), 2;
    hd_status s = hd_folder_remove(argv[1], &err);
    if (!s) s = hd_folder_make(argv[1], NULL, &err);
    if (!s) s = tiny_write(argv[1], &err);
    if (s) fprintf(stderr, "%s\n", err.text);
    return s != HD_OK;
}

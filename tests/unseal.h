/* A folder whose files may be changed by hand: config.json without its checksums. Include after scratch.h. */
#ifndef UNSEAL_H
#define UNSEAL_H

SCRATCH_UNUSED static void unseal(const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *text = get_file(path, NULL), *seal = strstr(text, ",\n \"crc32c\"");
    if (seal) strcpy(seal, "}\n");
    put_file(path, text);
    free(text);
}

#endif

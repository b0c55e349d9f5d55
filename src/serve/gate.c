/* Who may ask. */
#include "serve/gate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file/file.h"
#include "base/mem.h"

static hd_status add_key(hd_gate *g, const char *path, size_t number, const char *text, size_t size,
                         hd_err *err)
{
    if (size && text[size - 1] == '\r') size--;
    if (!size || *text == '#') return HD_OK;
    if (size >= HD_KEY_MOST)
        return hd_err_set(err, HD_ELIMIT, "%s:%zu: a key has at most %d bytes", path, number,
                          HD_KEY_MOST - 1);
    if (g->keys == HD_KEYS_MOST)
        return hd_err_set(err, HD_ELIMIT, "%s: more than %d keys", path, HD_KEYS_MOST);
    memcpy(g->key[g->keys++], text, size);
    return HD_OK;
}

hd_status hd_gate_read(hd_gate *g, const char *path, hd_err *err)
{
    enum { MOST = HD_KEYS_MOST * (HD_KEY_MOST + 1) };
    struct stat about;
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (!stat(path, &about) && about.st_mode & 077)
        return hd_err_set(err, HD_EFILE, "%s: others can read it: chmod 600 %s", path, path);
    hd_status s = hd_file_read(&bytes, &size, path, MOST, err);
    if (s) return s;
    g->key = hd_mem_array(HD_KEYS_MOST, sizeof *g->key);
    if (!g->key) s = hd_err_nomem(err, HD_KEYS_MOST * sizeof *g->key);
    const char *at = (const char *)bytes, *end = at + size;
    for (size_t number = 1; !s && at < end; number++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line ? line : end) - at);
        s = add_key(g, path, number, at, length, err);
        at += length + 1;
    }
    if (!s && !g->keys) s = hd_err_set(err, HD_EFORMAT, "%s: there is no key in it", path);
    hd_mem_free(bytes);
    if (s) hd_gate_release(g);
    return s;
}

void hd_gate_release(hd_gate *g)
{
    hd_mem_free(g->key);
    g->key = NULL, g->keys = 0;
}

size_t hd_gate_number(const hd_gate *g, const char *key)
{
    char given[HD_KEY_MOST] = {0};
    size_t size = strlen(key);
    size_t found = 0;
    memcpy(given, key, size < HD_KEY_MOST ? size : HD_KEY_MOST - 1);
    for (size_t i = 0; i < g->keys; i++) {
        unsigned differ = size >= HD_KEY_MOST;
        for (size_t j = 0; j < HD_KEY_MOST; j++)
            differ |= (unsigned)(unsigned char)given[j] ^ (unsigned)(unsigned char)g->key[i][j];
        found |= (i + 1) & (0 - (size_t)!differ);
    }
    return size ? found : 0;
}

static bool is_named(const char *const *names, size_t count, const char *text, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], "*") || (strlen(names[i]) == size && !strncasecmp(names[i], text, size)))
            return true;
    return false;
}

/* Addresses in numbers are always ours: a name that leads elsewhere cannot look like one. */
bool hd_gate_is_host(const hd_gate *g, const char *host)
{
    static const char *const own[] = {"localhost"};
    char bare[64];
    unsigned char address[16];
    if (!host) return true; /* HTTP/1.0; 1.1 cannot do without */
    const char *from = *host == '[' ? host + 1 : host;
    size_t size = strcspn(from, *host == '[' ? "]" : ":");
    if (is_named(own, 1, from, size) || is_named(g->host, g->hosts, from, size)) return true;
    snprintf(bare, sizeof bare, "%.*s", (int)(size < sizeof bare ? size : 0), from);
    return inet_pton(AF_INET, bare, address) == 1 || inet_pton(AF_INET6, bare, address) == 1;
}

bool hd_gate_is_origin(const hd_gate *g, const char *origin)
{
    if (!origin || is_named(g->origin, g->origins, origin, strlen(origin))) return true;
    const char *from = strstr(origin, "://");
    return from && !strncmp(origin, "http", 4) && hd_gate_is_host(g, from + 3);
}

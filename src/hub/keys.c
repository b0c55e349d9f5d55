/* Tables of settings. */
#include "hub/keys.h"

#include <stdio.h>
#include <stdlib.h>

#include "hub/family.h"

static void read_key(hd_model_config *c, const hd_key *k, void *at)
{
    bool said = hd_model_config_has(c, k->name);
    long long whole = (long long)k->otherwise;
    double real = k->otherwise;
    if (said && (k->kind == HD_KEY_INT || k->kind == HD_KEY_SIZE))
        whole = hd_model_config_whole(c, k->name, 1, (long long)k->most);
    if (said && k->kind == HD_KEY_REAL) real = hd_model_config_real(c, k->name, k->most);
    switch (k->kind) {
    case HD_KEY_INT:
        *(int *)at = (int)whole;
        break;
    case HD_KEY_SIZE:
        *(size_t *)at = (size_t)whole;
        break;
    case HD_KEY_REAL:
        *(float *)at = (float)real;
        break;
    case HD_KEY_SWITCH:
        *(bool *)at = hd_family_switch(c, k->name, k->otherwise > 0);
        break;
    case HD_KEY_ACT:
        *(hd_unary *)at =
            said ? hd_family_activation_called(c, hd_model_config_text(c, k->name)) : (hd_unary)k->otherwise;
        break;
    }
}

void hd_keys_read(hd_model_config *c, const hd_key *keys, void *options)
{
    for (const hd_key *k = keys; k->name; k++) read_key(c, k, (char *)options + k->at);
}

/* As few digits as tell the number. */
static json_t *short_real(float x)
{
    char digits[40];
    int n = 1;
    do snprintf(digits, sizeof digits, "%.*g", n, (double)x);
    while (n++ < 9 && strtof(digits, NULL) != x);
    return json_real(strtod(digits, NULL));
}

static json_t *value_of(const hd_key *k, const void *at)
{
    switch (k->kind) {
    case HD_KEY_INT:
        return json_integer(*(const int *)at);
    case HD_KEY_SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case HD_KEY_REAL:
        return short_real(*(const float *)at);
    case HD_KEY_SWITCH:
        return json_boolean(*(const bool *)at);
    case HD_KEY_ACT:
        return json_string(hd_family_activation_name(*(const hd_unary *)at));
    }
    return NULL;
}

void hd_keys_write(json_t *to, const hd_key *keys, const void *options)
{
    for (const hd_key *k = keys; k->name; k++) {
        const void *at = (const char *)options + k->at;
        if (k->kind != HD_KEY_SIZE || *(const size_t *)at) hd_json_set(to, k->name, value_of(k, at));
    }
}

/* The lists of vector sets and of product forms, and the choice among them. */
#include "backend/cpu/form/form.h"

#ifdef HD_HAVE_avx2
#include <cpuid.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HD_ISA_TABLE(isa) extern const hd_cpu_isa hd_cpu_isa_##isa;
#ifdef HD_HAVE_avx512
HD_ISA_TABLE(avx512)
#endif
#ifdef HD_HAVE_avx2
HD_ISA_TABLE(avx2)
#endif
HD_ISA_TABLE(base)

#ifdef HD_HAVE_avx2
/* clang 14 does not know this name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

/* The n-th set that this build has and this processor can run, the fastest first; NULL after the last. */
static const hd_cpu_isa *usable_set(int n)
{
    const hd_cpu_isa *set[3];
    int count = 0;
#ifdef HD_HAVE_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("fma"))
        set[count++] = &hd_cpu_isa_avx512;
#endif
#ifdef HD_HAVE_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
        set[count++] = &hd_cpu_isa_avx2;
#endif
    set[count++] = &hd_cpu_isa_base;
    return n < count ? set[n] : NULL;
}

static const hd_form *const forms[] = {
#define X(name) &hd_form_##name,
    HD_FORM_LIST(X)
#undef X
        NULL};

/* The n-th usable form, the fastest of a kind first; the last is that of the set. NULL after it. */
static const hd_form *usable_form(int n, const hd_cpu_isa *set)
{
    for (const hd_form *const *f = forms; *f; f++)
        if ((*f)->needs && (*f)->needs() && n-- == 0) return *f;
    return n == 0 ? set->widened : NULL;
}

/* -- names that are asked for -- */

typedef struct asking {
    const char *variable, *text; /* "" or NULL: all are fine */
} asking;

static bool is_named(const asking *a, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = a->text; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !memcmp(at, name, length)) return true;
    return false;
}

/* Whether the word at `text`, up to a comma, names a set or a form. */
static bool is_known(const char *text)
{
    char word[32];
    const int length = (int)strcspn(text, ",");
    if (snprintf(word, sizeof word, "%.*s", length, text) >= (int)sizeof word) return false;
    const asking one = {.text = word};
    for (int i = 0; usable_set(i); i++)
        if (is_named(&one, usable_set(i)->name)) return true;
    for (int i = 0; usable_form(i, usable_set(0)); i++)
        if (is_named(&one, usable_form(i, usable_set(0))->name)) return true;
    return false;
}

/* A set and forms of both kinds may have one name. */
static void list_names(char *names, size_t size)
{
    *names = 0;
    for (int i = 0; usable_set(i); i++)
        snprintf(names + strlen(names), size - strlen(names), "%s%s", i ? ", " : "", usable_set(i)->name);
    for (int i = 0; usable_form(i, usable_set(0)); i++) {
        const char *name = usable_form(i, usable_set(0))->name;
        bool again = false;
        for (int j = 0; usable_set(j); j++) again |= !strcmp(usable_set(j)->name, name);
        for (int j = 0; j < i; j++) again |= !strcmp(usable_form(j, usable_set(0))->name, name);
        if (!again) snprintf(names + strlen(names), size - strlen(names), ", %s", name);
    }
}

static const hd_form *form_of(hd_dtype kind, const hd_cpu_isa *set, const asking *a)
{
    const hd_form *first = NULL;
    for (int i = 0; usable_form(i, set); i++) {
        const hd_form *f = usable_form(i, set);
        if (f->stores != kind) continue;
        if (is_named(a, f->name)) return f;
        if (!first && !(f->slow && f->slow())) first = f;
    }
    return first;
}

hd_status hd_cpu_choose(hd_cpu_choice *out, hd_err *err)
{
    asking a = {"HEED_CPU", getenv("HEED_CPU")};
    if (!a.text || !*a.text) a = (asking){"HEED_ISA", getenv("HEED_ISA")};
    for (const char *at = a.text; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (!is_known(at)) {
            char names[192];
            list_names(names, sizeof names);
            return hd_err_set(err, HD_EARG, "%s=%s: this processor and build have %s", a.variable, a.text,
                              names);
        }
    out->set = usable_set(0);
    for (int i = 0; usable_set(i); i++)
        if (is_named(&a, usable_set(i)->name)) {
            out->set = usable_set(i);
            break;
        }
    out->bf16 = form_of(HD_BF16, out->set, &a);
    out->int8 = form_of(HD_I8, out->set, &a);
    return HD_OK;
}

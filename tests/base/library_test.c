/* Shared libraries loaded at first use: what is found is found where it was looked for, and a failure says
   what is missing and what to do. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/library.h"
#include "outcome.h"

static const char *const maths[] = {"libm.so.6", NULL};
static const char *const nowhere[] = {"libheed-is-not-there.so.1", NULL};
static const char *const cosine[] = {"cos", "pow", NULL};

static void functions_are_found_in_their_order(void **state)
{
    (void)state;
    hd_err err = {0};
    struct {
        double (*cosine)(double), (*power)(double, double);
    } f = {0};
    hd_library l = {.name = "maths", .file = maths, .remedy = "install it", .symbols = cosine};
    assert_int_equal(hd_library_load(&l, (void **)&f, &err), HD_OK);
    assert_true(f.cosine(0) == 1 && f.power(2, 10) == 1024);
    assert_int_equal(hd_library_load(&l, (void **)&f, &err), HD_OK); /* and again */
}

static void assert_says(const hd_err *err, const char *part)
{
    if (!strstr(err->text, part)) fail_msg("'%s' is not in: %s", part, err->text);
}

static void a_missing_library_is_named_with_the_remedy(void **state)
{
    (void)state;
    hd_err err = {0};
    void *f[2] = {NULL, NULL};
    hd_library l = {
        .name = "Abacus", .file = nowhere, .remedy = "install abacus-13, or use none", .symbols = cosine};
    assert_int_equal(hd_library_load(&l, f, &err), HD_EMISSING);
    assert_says(&err, "Abacus");
    assert_says(&err, "libheed-is-not-there.so.1");
    assert_says(&err, "install abacus-13, or use none");
}

static void a_missing_function_is_named(void **state)
{
    (void)state;
    static const char *const odd[] = {"cos", "heed_has_no_such_function", NULL};
    hd_err err = {0};
    void *f[2] = {NULL, NULL};
    hd_library l = {.name = "maths", .file = maths, .remedy = "install it", .symbols = odd};
    assert_int_equal(hd_library_load(&l, f, &err), HD_EMISSING);
    assert_says(&err, "heed_has_no_such_function");
    assert_says(&err, "install it");
}

/* Of several places the one where a file is gives the reason. */
static void a_broken_file_says_why_it_cannot_be_loaded(void **state)
{
    (void)state;
    char folder[] = "/tmp/heed-library-XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, nowhere[0]);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("this is no library\n", file);
    fclose(file);
    const char *const folders[] = {"/heed/no/such/folder", folder, NULL};
    hd_err err = {0};
    void *f[2] = {NULL, NULL};
    hd_library l = {.name = "Abacus", .file = nowhere, .folder = folders, .remedy = "x", .symbols = cosine};
    assert_int_equal(hd_library_load(&l, f, &err), HD_EMISSING);
    assert_says(&err, path);
    assert_null(strstr(err.text, "No such file"));
    unlink(path);
    rmdir(folder);
}

static void only_the_given_folder_is_looked_in(void **state)
{
    (void)state;
    hd_err err = {0};
    void *f[2] = {NULL, NULL};
    hd_library l = {.name = "maths",
                    .file = maths,
                    .only = "/heed/no/such/folder",
                    .remedy = "install it",
                    .symbols = cosine};
    assert_int_equal(hd_library_load(&l, f, &err), HD_EMISSING);
    assert_says(&err, "/heed/no/such/folder/libm.so.6");
}

static bool is_loaded(const char *file)
{
    void *there = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (there) dlclose(there);
    return there;
}

/* With a library that nothing here is linked with. */
static void what_is_kept_outlives_its_end(void **state)
{
    (void)state;
    static const char file[] = "libthread_db.so.1";
    for (int kept = 0; kept < 2; kept++) {
        void *l = dlopen(file, RTLD_LAZY);
        if (!l) leave_out("the C library has no libthread_db");
        assert_true(is_loaded(file));
        if (kept) hd_libraries_keep();
        dlclose(l);
        assert_int_equal(is_loaded(file), kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_in_their_order),
        cmocka_unit_test(a_missing_library_is_named_with_the_remedy),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(a_broken_file_says_why_it_cannot_be_loaded),
        cmocka_unit_test(only_the_given_folder_is_looked_in),
        cmocka_unit_test(what_is_kept_outlives_its_end),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}

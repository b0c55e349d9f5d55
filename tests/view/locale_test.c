/* Numbers in files are the same in every locale. Needs a locale with another decimal point. */
#include "view/maps.h"

#include <locale.h>

#include "outcome.h"
#include "view/attention/file.h"

/* A program that uses the library may have set a locale that writes 0,5. */
static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    size_t i = 0, size;
    while (i < COUNT_OF(locales) && !setlocale(LC_NUMERIC, locales[i])) i++;
    if (i == COUNT_OF(locales)) leave_out("no locale with a decimal comma is installed");
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){3, 3, 1, 1, NULL, NULL});
    maps_write(&f, "a.json", NULL, &a, 1);
    setlocale(LC_NUMERIC, "C");
    maps_write(&f, "c.json", NULL, &a, 1);
    char *there = maps_read(&f, "a.json", &size), *here = maps_read(&f, "c.json", &size);
    assert_string_equal(there, here);
    free(there);
    free(here);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_locale_does_not_matter)};
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}

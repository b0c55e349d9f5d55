/* The page of attention as a browser shows it, where there is one. */
#include "view/maps.h"

#include "outcome.h"

/* The page as a browser makes it, where there is one: elements after its script ran. NULL: there is none. */
static char *in_browser(const maps_folder *f, const char *name)
{
    static const char *const browsers[] = {"chromium", "chromium-browser", "google-chrome"};
    char path[128], command[512];
    enum { ROOM = 1 << 20 };
    char *page = malloc(ROOM);
    for (size_t i = 0; i < COUNT_OF(browsers); i++) {
        snprintf(command, sizeof command,
                 "command -v %s >/dev/null && timeout 60 %s --headless --no-sandbox --disable-gpu "
                 "--user-data-dir=%s/browser --dump-dom file://%s 2>/dev/null",
                 browsers[i], browsers[i], f->path, maps_path(f, name, path));
        FILE *from = popen(command, "r");
        size_t size = from ? fread(page, 1, ROOM - 1, from) : 0;
        if (from) pclose(from);
        page[size] = 0;
        if (strstr(page, "</html>")) return page;
    }
    free(page);
    return NULL;
}

/* Two parts of a line: each is called what it is, and its texts, which may go from right to left, stand in
   elements that keep their direction. */
static void parts_are_told_apart_and_texts_keep_their_direction(void **state)
{
    (void)state;
    static const char arabic[] = "كيف حالك (يا صديقي)؟";
    maps_folder f = maps_folder_new();
    hd_attention_maps a[3];
    for (size_t i = 0; i < 3; i++) {
        a[i] = maps_of(&(maps_shape){3, 3, 1, 1, NULL, NULL});
        a[i].place = i < 2 ? (hd_attention_place){3, i + 1, 2} : (hd_attention_place){4, 1, 1};
        a[i].sentence = arabic;
        a[i].translation = "Hi .";
    }
    a[0].source[1].piece = "house*", a[0].source[1].word = "house";
    maps_write(&f, "a.html", NULL, a, 3);
    for (int i = 0; i < 3; i++) hd_attention_release(&a[i]);
    char *shown = in_browser(&f, "a.html");
    char remove[256];
    snprintf(remove, sizeof remove, "rm -rf %s/browser", f.path);
    assert_int_equal(system(remove), 0);
    maps_folder_free(&f);
    if (!shown) leave_out("no Chromium");
    static const char *const elements[] = {"<bdi>كيف حالك (يا صديقي)؟</bdi>",
                                           "<bdi>Hi .</bdi>",
                                           "<i>line 3, part 1 of 2</i>",
                                           ">3, part 2 of 2. \u2068كيف حالك (يا صديقي)؟\u2069</option>",
                                           ">4. \u2068",
                                           "<span id=\"unknown\">"};
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (!strstr(shown, elements[i])) fail_msg("the page has no %s", elements[i]);
    free(shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart_and_texts_keep_their_direction),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}

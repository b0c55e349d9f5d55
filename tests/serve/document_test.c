/* The OpenAPI document and the routes: what one has the other has. */
#include "check.h"

#include <ctype.h>

#include "serve/api/call.h"
#include "serve/client.h"

static const hd_protocol *const protocols[] = {
#define X(name) &hd_protocol_##name,
    HD_PROTOCOL_LIST(X)
#undef X
};

static json_t *document(const char *line)
{
    const char *said = ask(&usual, line, "", NULL);
    assert_answer(said, 200, "Content-Type: application/json");
    return json_of(said);
}

/* Whether a path of the document, "/v1/models/{model}", is that of the route, "/v1/models/". */
static bool is_path_of(const char *path, const hd_endpoint *r)
{
    size_t fixed = strcspn(path, "{"), size = strlen(r->path);
    bool open = size > 1 && r->path[size - 1] == '/';
    return fixed == size && !memcmp(path, r->path, size) && open == (path[fixed] == '{');
}

static bool is_method_of(const char *method, const hd_endpoint *r)
{
    return !strcasecmp(method, r->method);
}

static void every_route_is_described(void **state)
{
    (void)state;
    json_t *paths = json_object_get(document("GET /openapi.json"), "paths"), *item, *operation;
    const char *path, *method;
    for (size_t p = 0; p < COUNT_OF(protocols); p++)
        for (const hd_endpoint *r = protocols[p]->routes; r->path; r++) {
            bool found = false;
            json_object_foreach(paths, path, item) json_object_foreach(item, method, operation) found =
                found || (is_path_of(path, r) && is_method_of(method, r));
            if (!found) fail_msg("%s %s is not in the document", r->method, r->path);
        }
}

static void every_operation_is_a_route(void **state)
{
    (void)state;
    json_t *paths = json_object_get(document("GET /openapi.json"), "paths"), *item, *operation;
    const char *path, *method;
    json_object_foreach(paths, path, item) json_object_foreach(item, method, operation)
    {
        bool found = false;
        for (size_t p = 0; p < COUNT_OF(protocols); p++)
            for (const hd_endpoint *r = protocols[p]->routes; r->path; r++)
                found = found || (is_path_of(path, r) && is_method_of(method, r));
        if (!found) fail_msg("%s %s is no route", method, path);
        assert_true(json_is_string(json_object_get(operation, "summary")));
        assert_non_null(json_object_get(json_object_get(operation, "responses"), "default"));
        if (!strcmp(method, "post") && strcmp(path, "/suggest") && strcmp(path, "/translate_file"))
            assert_non_null(json_object_get(operation, "requestBody"));
    }
}

/* "#/components/schemas/Text" */
static void check_references(const json_t *root, const json_t *in)
{
    const char *key;
    json_t *value;
    size_t i;
    const char *to = json_string_value(json_object_get(in, "$ref"));
    if (to) {
        char part[64];
        int used = 0;
        const json_t *at = root;
        for (to += 1; *to && sscanf(to, "/%63[^/]%n", part, &used) == 1; to += used)
            at = json_object_get(at, part);
        if (!at) fail_msg("%s leads nowhere", json_string_value(json_object_get(in, "$ref")));
    }
    json_object_foreach((json_t *)(uintptr_t)in, key, value) check_references(root, value);
    json_array_foreach(in, i, value) check_references(root, value);
}

static void marks_are_filled_in(void **state)
{
    (void)state;
    json_t *root = document("GET /openapi.json");
    assert_null(strstr(body_of(ask(&usual, "GET /openapi.json", "", NULL)), "\"@"));
    assert_string_equal(json_string_value(json_object_get(root, "openapi")), "3.1.0");
    check_references(root, root);
    json_t *model = json_object_get(json_object_get(root, "paths"), "/v1/models/{model}");
    model = json_array_get(json_object_get(json_object_get(model, "get"), "parameters"), 0);
    json_t *names = json_object_get(json_object_get(model, "schema"), "enum");
    assert_int_equal(json_array_size(names), 1);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "model");
}

/* Dialect asks for it and wants this title. */
static void clients_of_libretranslate_know_it_by_its_title(void **state)
{
    (void)state;
    json_t *info = json_object_get(document("GET /spec"), "info");
    assert_string_equal(json_string_value(json_object_get(info, "title")), "LibreTranslate");
    info = json_object_get(document("GET /openapi.json"), "info");
    assert_string_equal(json_string_value(json_object_get(info, "title")), "heed");
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described),
        cmocka_unit_test(every_operation_is_a_route),
        cmocka_unit_test(marks_are_filled_in),
        cmocka_unit_test(clients_of_libretranslate_know_it_by_its_title),
    };
    return outcome(cmocka_run_group_tests(tests, usual_begin, usual_end));
}

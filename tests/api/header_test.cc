// heed.h as C++ reads it, first and alone.
#include <heed.h>

#include <cstdio>
#include <vector>

extern "C" size_t header_sizes(size_t *to, size_t room);
extern "C" int header_refusal(char *text, size_t size);

size_t header_sizes(size_t *to, size_t room)
{
    const std::vector<size_t> sizes = {sizeof(heed_error),           sizeof(heed_model_options),
                                       sizeof(heed_context_options), sizeof(heed_translate_options),
                                       sizeof(heed_hypothesis),      sizeof(heed_translation),
                                       sizeof(heed_results),         sizeof(heed_attention)};
    for (size_t i = 0; i < sizes.size() && i < room; i++) to[i] = sizes[i];
    return sizes.size();
}

int header_refusal(char *text, size_t size)
{
    heed_error error;
    heed_model *model = nullptr;
    heed_translate_options options;
    heed_translate_options_init(&options, sizeof options);
    options.search = HEED_SEARCH_SAMPLE;
    options.attention = [](void *, const heed_attention *) { return HEED_OK; };
    const heed_status s = heed_model_open(&model, "/nowhere/at/all", nullptr, &error);
    std::snprintf(text, size, "%s", error.text);
    heed_model_free(model);
    return s;
}

/* Files of prompts. */
#include <string.h>

#include "base/mem.h"
#include "task/language/generate.h"
#include "task/reward/reward.h"

static uint64_t mix(uint64_t hash, hd_line text)
{
    hash = (hash ^ text.size) * 0x100000001b3u;
    for (size_t i = 0; i < text.size; i++) hash = (hash ^ (unsigned char)text.text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void hash_all(hd_prompts *p)
{
    p->hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < p->count; i++)
        p->hash = mix(mix(p->hash, hd_prompts_text(p, i)), hd_prompts_answer(p, i));
}

/* typed: the prompt has escapes. */
static hd_status add(hd_prompts *p, hd_line prompt, hd_line answer, bool typed, hd_err *err)
{
    hd_status s = hd_mem_reserve(&p->at, &p->room, p->count + 1, sizeof *p->at, err);
    if (s) return s;
    hd_prompt *at = &p->at[p->count++];
    *at = (hd_prompt){.prompt = p->bytes.size};
    (typed ? hd_prompt_unescape : hd_text_add)(&p->bytes, prompt.text, prompt.size);
    at->prompt_size = p->bytes.size - at->prompt;
    hd_text_add(&p->bytes, "", 1);
    at->answer = p->bytes.size, at->answer_size = answer.size;
    if (answer.size) hd_text_add(&p->bytes, answer.text, answer.size);
    hd_text_add(&p->bytes, "", 1);
    return hd_text_status(&p->bytes, err);
}

static hd_status add_line(hd_prompts *p, hd_line line, bool answered, const hd_lines *from, hd_err *err)
{
    const char *tab = memchr(line.text, '\t', line.size);
    hd_line prompt = {line.text, tab ? (size_t)(tab - line.text) : line.size}, answer = {0};
    if (tab) answer = hd_answer_trimmed((hd_line){tab + 1, line.size - prompt.size - 1});
    if (answered && !tab)
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: not PROMPT<tab>ANSWER: --reward compares with the answer",
                          hd_lines_name(from), hd_lines_count(from));
    return add(p, prompt, answer, true, err);
}

hd_status hd_prompts_read(hd_prompts *out, const char *path, bool answered, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_prompts p = {0};
    hd_status s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text)
        s = add_line(&p, line, answered, lines, err);
    if (!s && !p.count) s = hd_err_set(err, HD_EFORMAT, "%s has no prompts", hd_lines_name(lines));
    hd_lines_close(lines);
    if (s)
        hd_prompts_release(&p);
    else
        hash_all(&p), *out = p;
    return s;
}

hd_status hd_prompts_split(hd_prompts *p, double fraction, hd_prompts *tail, hd_err *err)
{
    size_t moved = (size_t)(fraction * (double)p->count + 0.5);
    hd_prompts t = {0};
    hd_status s = HD_OK;
    if (p->count < 2)
        return hd_err_set(err, HD_EARG,
                          "one prompt cannot be parted: give others with --valid, or "
                          "--valid-fraction 0");
    moved = moved < 1 ? 1 : moved < p->count ? moved : p->count - 1;
    for (size_t i = p->count - moved; !s && i < p->count; i++)
        s = add(&t, hd_prompts_text(p, i), hd_prompts_answer(p, i), false, err);
    if (s) {
        hd_prompts_release(&t);
        return s;
    }
    p->count -= moved;
    hash_all(p), hash_all(&t);
    *tail = t;
    return HD_OK;
}

void hd_prompts_release(hd_prompts *p)
{
    hd_text_release(&p->bytes);
    hd_mem_free(p->at);
    *p = (hd_prompts){0};
}

hd_line hd_prompts_text(const hd_prompts *p, size_t i)
{
    return (hd_line){p->bytes.data + p->at[i].prompt, p->at[i].prompt_size};
}

hd_line hd_prompts_answer(const hd_prompts *p, size_t i)
{
    return (hd_line){p->bytes.data + p->at[i].answer, p->at[i].answer_size};
}

/* The pickle machine, with the operations that dictionaries of tensors need. Easy to get wrong: every
   operation pops from the stack, which a hostile program leaves empty. */
#include "tensor/pickle.h"

#include <string.h>

#include "base/mem.h"

/* A list that grows. */
typedef struct list {
    void *at;
    size_t count, room;
} list;

struct hd_pickle {
    hd_pickle_host host;
    const uint8_t *bytes;
    size_t size, at;
    list stack, marks, memo, cells, entries;
    int64_t owners;
};

static hd_status bad(const hd_pickle *p, hd_err *err, const char *what)
{
    return hd_err_set(err, HD_EFORMAT, "the pickle is refused at byte %zu: %s", p->at, what);
}

static hd_status grow(list *l, size_t count, size_t size, hd_err *err)
{
    return hd_mem_reserve(&l->at, &l->room, count, size, err);
}

hd_status hd_pickle_new(hd_pickle **out, const hd_pickle_host *host, hd_err *err)
{
    hd_pickle *p = hd_mem_zero(sizeof *p);
    if (!p) return hd_err_nomem(err, sizeof *p);
    p->host = *host;
    *out = p;
    return HD_OK;
}

void hd_pickle_free(hd_pickle *p)
{
    if (!p) return;
    list *const all[] = {&p->stack, &p->marks, &p->memo, &p->cells, &p->entries};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_mem_free(all[i]->at);
    hd_mem_free(p);
}

const hd_pickle_value *hd_pickle_cells(const hd_pickle *p, hd_pickle_value tuple)
{
    return tuple.kind == HD_PICKLE_TUPLE ? (const hd_pickle_value *)p->cells.at + tuple.number : NULL;
}

const hd_pickle_entry *hd_pickle_entries(const hd_pickle *p, size_t *count)
{
    *count = p->entries.count;
    return p->entries.at;
}

static hd_pickle_value new_dict(hd_pickle *p)
{
    return (hd_pickle_value){.kind = HD_PICKLE_DICT, .number = p->owners++};
}

/* -- the stack -- */

static hd_status push(hd_pickle *p, hd_pickle_value v, hd_err *err)
{
    hd_status s = grow(&p->stack, p->stack.count + 1, sizeof v, err);
    if (!s) ((hd_pickle_value *)p->stack.at)[p->stack.count++] = v;
    return s;
}

/* Values above the last mark, or all; those below it are out of reach. */
static size_t above(const hd_pickle *p)
{
    return p->stack.count - (p->marks.count ? ((size_t *)p->marks.at)[p->marks.count - 1] : 0);
}

static hd_pickle_value *top(const hd_pickle *p, size_t down)
{
    return (hd_pickle_value *)p->stack.at + p->stack.count - 1 - down;
}

static hd_status mark(hd_pickle *p, hd_err *err)
{
    hd_status s = grow(&p->marks, p->marks.count + 1, sizeof(size_t), err);
    if (!s) ((size_t *)p->marks.at)[p->marks.count++] = p->stack.count;
    return s;
}

/* -- bytes of the program -- */

static bool take(hd_pickle *p, size_t count, const uint8_t **out)
{
    if (count > p->size - p->at) return false;
    *out = p->bytes + p->at;
    p->at += count;
    return true;
}

static bool take_number(hd_pickle *p, size_t bytes, uint64_t *out)
{
    const uint8_t *at;
    if (!take(p, bytes, &at)) return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)at[i] << 8 * i;
    return true;
}

static bool take_line(hd_pickle *p, const char **text, size_t *size)
{
    const uint8_t *from = p->bytes + p->at, *end = memchr(from, '\n', p->size - p->at);
    if (!end) return false;
    *text = (const char *)from, *size = (size_t)(end - from);
    p->at += *size + 1;
    return true;
}

/* -- operations -- */

static hd_status put_int(hd_pickle *p, size_t bytes, hd_err *err)
{
    uint64_t n = 0;
    if (!take_number(p, bytes, &n)) return bad(p, err, "it is cut short");
    int64_t value = bytes == 4 ? (int32_t)(uint32_t)n : (int64_t)n;
    return push(p, (hd_pickle_value){.kind = HD_PICKLE_INT, .number = value}, err);
}

/* Of up to 8 bytes; of the longer ones that name the format the first 8 are kept. */
static hd_status put_long(hd_pickle *p, hd_err *err)
{
    uint64_t size = 0, n = 0;
    const uint8_t *at;
    if (!take_number(p, 1, &size) || !take(p, (size_t)size, &at)) return bad(p, err, "it is cut short");
    for (size_t i = 0; i < size && i < 8; i++) n |= (uint64_t)at[i] << 8 * i;
    if (size && size < 8 && at[size - 1] & 0x80) n |= UINT64_MAX << 8 * size;
    return push(p, (hd_pickle_value){.kind = HD_PICKLE_INT, .number = (int64_t)n}, err);
}

static hd_status put_text(hd_pickle *p, hd_err *err)
{
    uint64_t size = 0;
    const uint8_t *at;
    if (!take_number(p, 4, &size) || !take(p, (size_t)size, &at)) return bad(p, err, "it is cut short");
    return push(p, (hd_pickle_value){.kind = HD_PICKLE_TEXT, .text = (const char *)at, .size = (size_t)size},
                err);
}

static hd_status put_name(hd_pickle *p, hd_err *err)
{
    const char *module, *name;
    size_t module_size, size;
    if (!take_line(p, &module, &module_size) || !take_line(p, &name, &size))
        return bad(p, err, "it is cut short");
    int number = p->host.name(p->host.context, module, module_size, name, size);
    if (number < 0)
        return hd_err_set(err, HD_EFORMAT,
                          "the pickle is refused: it names %.*s.%.*s, which no dictionary of tensors needs",
                          module_size > 60 ? 60 : (int)module_size, module, size > 60 ? 60 : (int)size, name);
    return push(p, (hd_pickle_value){.kind = HD_PICKLE_NAME, .number = number}, err);
}

/* The topmost values become a tuple. */
static hd_status put_tuple(hd_pickle *p, size_t count, hd_err *err)
{
    hd_pickle_value tuple = {.kind = HD_PICKLE_TUPLE, .number = (int64_t)p->cells.count, .size = count};
    if (above(p) < count) return bad(p, err, "the stack is too short");
    hd_status s = grow(&p->cells, p->cells.count + count + 1, sizeof tuple, err);
    if (s) return s;
    if (count)
        memcpy((hd_pickle_value *)p->cells.at + p->cells.count, top(p, count - 1), count * sizeof tuple);
    p->cells.count += count;
    p->stack.count -= count;
    return push(p, tuple, err);
}

static hd_status memoize(hd_pickle *p, size_t bytes, hd_err *err)
{
    uint64_t place = 0;
    if (!take_number(p, bytes, &place)) return bad(p, err, "it is cut short");
    if (!above(p) || place >= p->size) return bad(p, err, "a value to keep is not there");
    size_t before = p->memo.room;
    hd_status s = grow(&p->memo, (size_t)place + 1, sizeof(hd_pickle_value), err);
    if (s) return s;
    hd_pickle_value *memo = p->memo.at;
    memset(memo + before, 0, (p->memo.room - before) * sizeof *memo); /* NONE */
    memo[place] = *top(p, 0);
    return HD_OK;
}

static hd_status recall(hd_pickle *p, size_t bytes, hd_err *err)
{
    uint64_t place = 0;
    if (!take_number(p, bytes, &place)) return bad(p, err, "it is cut short");
    if (place >= p->memo.room) return bad(p, err, "a value that was kept is not there");
    return push(p, ((hd_pickle_value *)p->memo.at)[place], err);
}

/* Adds the topmost `count` values to the one below them: pairs of a dictionary, or values of a list. */
static hd_status set_items(hd_pickle *p, size_t count, bool pairs, hd_err *err)
{
    const size_t step = pairs ? 2 : 1;
    if (above(p) < count + 1 || count % step) return bad(p, err, "the stack is too short");
    hd_pickle_value owner = *top(p, count);
    if (owner.kind != (pairs ? HD_PICKLE_DICT : HD_PICKLE_LIST))
        return bad(p, err, "items are set in what has none");
    hd_status s = grow(&p->entries, p->entries.count + count / step + 1, sizeof(hd_pickle_entry), err);
    for (size_t i = 0; !s && i < count; i += step) {
        hd_pickle_entry e = {.owner = owner.number, .value = *top(p, count - step - i)};
        if (pairs) e.key = *top(p, count - 1 - i);
        ((hd_pickle_entry *)p->entries.at)[p->entries.count++] = e;
    }
    p->stack.count -= count;
    return s;
}

/* Values above the mark, which is removed. */
static bool take_mark(hd_pickle *p, size_t *count)
{
    if (!p->marks.count) return false;
    *count = above(p);
    p->marks.count--;
    return true;
}

static hd_status call(hd_pickle *p, hd_err *err)
{
    if (above(p) < 2 || top(p, 1)->kind != HD_PICKLE_NAME || top(p, 0)->kind != HD_PICKLE_TUPLE)
        return bad(p, err, "what is called is no name");
    hd_pickle_value out = {0};
    hd_status s = p->host.call(p->host.context, p, top(p, 1)->number, *top(p, 0), &out, err);
    if (out.kind == HD_PICKLE_DICT && !s) out = new_dict(p);
    p->stack.count -= 2;
    return s ? s : push(p, out, err);
}

static hd_status find(hd_pickle *p, hd_err *err)
{
    if (!above(p)) return bad(p, err, "the stack is too short");
    hd_pickle_value out = {0};
    hd_status s = p->host.find(p->host.context, p, *top(p, 0), &out, err);
    p->stack.count--;
    return s ? s : push(p, out, err);
}

static hd_status act(hd_pickle *p, uint8_t code, hd_err *err)
{
    uint64_t version = 0;
    size_t count = 0;
    switch (code) {
    case 0x80: /* PROTO */
        if (!take_number(p, 1, &version) || version > 3)
            return bad(p, err, "a protocol above 3 (PyTorch writes 2)");
        return HD_OK;
    case '(':
        return mark(p, err);
    case 'N':
        return push(p, (hd_pickle_value){.kind = HD_PICKLE_NONE}, err);
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89:
        return push(p, (hd_pickle_value){.kind = HD_PICKLE_BOOL, .number = code == 0x88}, err);
    case 'K':
        return put_int(p, 1, err);
    case 'M':
        return put_int(p, 2, err);
    case 'J':
        return put_int(p, 4, err);
    case 0x8a:
        return put_long(p, err);
    case 'X':
        return put_text(p, err);
    case 'c':
        return put_name(p, err);
    case ')':
        return put_tuple(p, 0, err);
    case 0x85: /* TUPLE1 to TUPLE3 */
    case 0x86:
    case 0x87:
        return put_tuple(p, (size_t)(code - 0x84), err);
    case '}':
        return push(p, new_dict(p), err);
    case ']':
        return push(p, (hd_pickle_value){.kind = HD_PICKLE_LIST, .number = p->owners++}, err);
    case 'q':
        return memoize(p, 1, err);
    case 'r':
        return memoize(p, 4, err);
    case 'h':
        return recall(p, 1, err);
    case 'j':
        return recall(p, 4, err);
    case 's':
        return set_items(p, 2, true, err);
    case 'a':
        return set_items(p, 1, false, err);
    case 'R':
        return call(p, err);
    case 'Q':
        return find(p, err);
    case 'b': /* BUILD: attributes of the object below, which do not matter for tensors */
        if (above(p) < 2) return bad(p, err, "the stack is too short");
        p->stack.count--;
        return HD_OK;
    case 't':
    case 'u':
    case 'e':
        if (!take_mark(p, &count)) return bad(p, err, "a mark is not there");
        return code == 't' ? put_tuple(p, count, err) : set_items(p, count, code == 'u', err);
    default:
        return hd_err_set(err, HD_EFORMAT,
                          "the pickle is refused at byte %zu: the operation 0x%02x is none that a dictionary "
                          "of tensors needs",
                          p->at, code);
    }
}

hd_status hd_pickle_run(hd_pickle *p, const uint8_t *bytes, size_t size, size_t *at, hd_pickle_value *out,
                        hd_err *err)
{
    hd_status s = HD_OK;
    p->bytes = bytes, p->size = size, p->at = *at;
    p->stack.count = p->marks.count = 0;
    while (!s) {
        const uint8_t *code;
        if (!take(p, 1, &code)) return bad(p, err, "it is cut short");
        if (*code == '.') break;
        s = act(p, *code, err);
    }
    if (!s && !above(p)) s = bad(p, err, "the stack is too short");
    if (!s) *out = *top(p, 0), *at = p->at;
    return s;
}

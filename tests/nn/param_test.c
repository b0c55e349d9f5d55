/* Parameters: what files hold, how values are drawn, what is counted. Names and shapes are those of
 * shared/ref/hf-formats.md. */
#include <unistd.h>

#include "base/file/file.h"
#include "model/toy.h"
#include "spoil.h"

static char folder[64], path[96], other[96];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-param-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path), unlink(other);
    return rmdir(folder);
}

/* One model of either kind. */
typedef struct model {
    hd_backend *backend;
    hd_encdec *t;
    hd_gpt *g;
    hd_params *params;
} model;

typedef struct config {
    const char *name;
    bool gpt, tied, pre_norm, plain, output_bias, learned;
} config;

static const config configs[] = {
    {"transformer, tied", .tied = true},
    {"transformer, pre-norm, untied, output bias", .pre_norm = true, .output_bias = true},
    {"transformer, plain, learned positions", .plain = true, .learned = true},
    {"gpt", .gpt = true},
};

static model model_of(const config *c, uint64_t seed)
{
    hd_err err = {0};
    model m = {.backend = backend_of("cpu", 1)};
    hd_encdec_opt o = toy_opt();
    o.tied = c->tied, o.stack.pre_norm = c->pre_norm, o.stack.plain = c->plain,
    o.output_bias = c->output_bias, o.learned_positions = c->learned;
    if (!c->tied) o.target_vocab = TOY_VOCAB + 4;
    hd_gpt_opt g = toy_gpt_opt();
    if (c->gpt)
        m.g = toy_gpt(m.backend, &g, false), m.params = &m.g->params;
    else
        m.t = toy_transformer(m.backend, &o, false), m.params = &m.t->params;
    if (hd_params_draw(m.params, seed, &err)) fail_msg("%s", err.text);
    stir(m.params);
    return m;
}

static void model_free(model *m)
{
    hd_encdec_free(m->t);
    hd_gpt_free(m->g);
    hd_backend_free(m->backend);
}

static void save(const model *m, const char *to)
{
    hd_err err = {0};
    if (hd_params_save(m->params, to, &(hd_meta){"format", "pt"}, 1, &err)) fail_msg("%s", err.text);
}

static hd_safetensors *open_file(const char *from)
{
    hd_err err = {0};
    hd_safetensors *s = NULL;
    if (hd_safetensors_open(&s, from, &err)) fail_msg("%s", err.text);
    return s;
}

/* Loads the file into m; the message of a failure in *err. */
static hd_status load(model *m, const char *from, hd_err *err)
{
    hd_safetensors *s = open_file(from);
    *err = (hd_err){0};
    hd_status st = hd_params_load(m->params, s, err);
    hd_safetensors_free(s);
    return st;
}

static void assert_same_values(const model *a, const model *b)
{
    assert_int_equal(a->params->total, b->params->total);
    assert_memory_equal(a->params->value, b->params->value, a->params->total * sizeof(hd_real));
}

static void assert_same_bytes(const char *a, const char *b)
{
    hd_err err = {0};
    hd_map x = {0}, y = {0};
    if (hd_map_open(&x, a, &err) || hd_map_open(&y, b, &err)) fail_msg("%s", err.text);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    hd_map_close(&x), hd_map_close(&y);
}

static void what_was_saved_comes_back_byte_for_byte(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(configs); c++) {
        hd_err err;
        model a = model_of(&configs[c], 1), b = model_of(&configs[c], 2);
        assert_memory_not_equal(a.params->value, b.params->value, a.params->total * sizeof(hd_real));
        save(&a, path);
        if (load(&b, path, &err)) fail_msg("%s: %s", configs[c].name, err.text);
        assert_same_values(&a, &b);
        save(&b, other);
        assert_same_bytes(path, other);
        model_free(&a), model_free(&b);
    }
}

/* The file holds exactly what was expected: each name is looked up once, and the count is compared at the
 * end. */
typedef struct expectation {
    const hd_safetensors *s;
    size_t count;
} expectation;

__attribute__((format(printf, 4, 5))) static void expect(expectation *e, size_t rows, size_t cols,
                                                         const char *format, ...)
{
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const hd_entry *t = hd_safetensors_find(e->s, name);
    if (!t) fail_msg("no tensor '%s'", name);
    if (t->rank != (cols ? 2 : 1) || t->shape[0] != rows || (cols && t->shape[1] != cols))
        fail_msg("'%s' has rank %d, shape %zu ...", name, t->rank, t->shape[0]);
    assert_string_equal(t->type, "F32");
    e->count++;
}

static void expect_linear(expectation *e, size_t out, size_t in, const char *name)
{
    expect(e, out, in, "%s.weight", name);
    expect(e, out, 0, "%s.bias", name);
}

static void expect_norm(expectation *e, size_t width, const char *name)
{
    expect(e, width, 0, "%s.weight", name);
    expect(e, width, 0, "%s.bias", name);
}

static void expect_marian_layer(expectation *e, const hd_encdec_opt *o, const char *side, int i, bool cross)
{
    char name[128];
    const char *const attention[] = {"self_attn", "encoder_attn"}, *const parts[] = {"q_proj", "k_proj",
                                                                                     "v_proj", "out_proj"};
#define AT(...) (snprintf(name, sizeof name, __VA_ARGS__), name)
    for (int a = 0; a < (cross ? 2 : 1); a++) {
        for (int p = 0; p < 4; p++)
            expect_linear(e, o->stack.width, o->stack.width,
                          AT("model.%s.layers.%d.%s.%s", side, i, attention[a], parts[p]));
        expect_norm(e, o->stack.width, AT("model.%s.layers.%d.%s_layer_norm", side, i, attention[a]));
    }
    expect_linear(e, o->stack.inner, o->stack.width, AT("model.%s.layers.%d.fc1", side, i));
    expect_linear(e, o->stack.width, o->stack.inner, AT("model.%s.layers.%d.fc2", side, i));
    expect_norm(e, o->stack.width, AT("model.%s.layers.%d.final_layer_norm", side, i));
#undef AT
}

static void a_transformer_file_has_marian_names_and_shapes(void **state)
{
    (void)state;
    for (int tied = 1; tied >= 0; tied--) {
        model m = model_of(&(config){"", .tied = tied, .output_bias = true}, 1);
        const hd_encdec_opt *o = &m.t->opt;
        save(&m, path);
        hd_safetensors *s = open_file(path);
        expectation e = {s, 0};
        if (tied) {
            expect(&e, o->source_vocab, o->stack.width, "model.shared.weight");
        } else {
            expect(&e, o->source_vocab, o->stack.width, "model.encoder.embed_tokens.weight");
            expect(&e, o->target_vocab, o->stack.width, "model.decoder.embed_tokens.weight");
            expect(&e, o->target_vocab, o->stack.width, "lm_head.weight");
        }
        for (int i = 0; i < o->encoder_layers; i++) expect_marian_layer(&e, o, "encoder", i, false);
        for (int i = 0; i < o->decoder_layers; i++) expect_marian_layer(&e, o, "decoder", i, true);
        expect(&e, 1, o->target_vocab, "final_logits_bias");
        assert_int_equal(hd_safetensors_count(s), e.count);
        assert_string_equal(hd_safetensors_meta(s, "format"), "pt");
        hd_safetensors_free(s);
        model_free(&m);
    }
}

static void q_k_and_v_are_one_product_in_memory_and_three_tensors_in_the_file(void **state)
{
    (void)state;
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    model m = model_of(&configs[0], 1);
    size_t c = m.t->opt.stack.width;
    save(&m, path);
    hd_safetensors *s = open_file(path);
    const hd_mha *a = &m.t->stack[0].block[1].cross;
    assert_int_equal(hd_rows_of(&a->qkv->t), 3 * c);
    for (size_t i = 0; i < 3; i++) {
        char name[96];
        snprintf(name, sizeof name, "model.decoder.layers.1.encoder_attn.%s.weight", names[i]);
        assert_memory_equal(hd_safetensors_find(s, name)->data, (const hd_real *)a->qkv->t.data + i * c * c,
                            c * c * sizeof(hd_real));
        snprintf(name, sizeof name, "model.decoder.layers.1.encoder_attn.%s.bias", names[i]);
        assert_memory_equal(hd_safetensors_find(s, name)->data, (const hd_real *)a->qkv_bias->t.data + i * c,
                            c * sizeof(hd_real));
    }
    assert_ptr_equal(a->q->t.data, a->qkv->t.data);
    assert_ptr_equal(a->kv->t.data, (hd_real *)a->qkv->t.data + c * c);
    hd_safetensors_free(s);
    model_free(&m);
}

static void a_gpt_file_has_gpt2_names_shapes_and_orientation(void **state)
{
    (void)state;
    model m = model_of(&(config){"", .gpt = true}, 1);
    const hd_gpt_opt *o = &m.g->opt;
    size_t d = o->stack.width;
    save(&m, path);
    hd_safetensors *s = open_file(path);
    expectation e = {s, 0};
    expect(&e, o->vocab, d, "wte.weight");
    expect(&e, o->positions, d, "wpe.weight");
    for (int i = 0; i < o->stack.layers; i++) {
        expect(&e, d, 0, "h.%d.ln_1.weight", i), expect(&e, d, 0, "h.%d.ln_1.bias", i);
        expect(&e, d, 0, "h.%d.ln_2.weight", i), expect(&e, d, 0, "h.%d.ln_2.bias", i);
        expect(&e, d, 3 * d, "h.%d.attn.c_attn.weight", i), expect(&e, 3 * d, 0, "h.%d.attn.c_attn.bias", i);
        expect(&e, d, d, "h.%d.attn.c_proj.weight", i), expect(&e, d, 0, "h.%d.attn.c_proj.bias", i);
        expect(&e, d, 4 * d, "h.%d.mlp.c_fc.weight", i), expect(&e, 4 * d, 0, "h.%d.mlp.c_fc.bias", i);
        expect(&e, 4 * d, d, "h.%d.mlp.c_proj.weight", i), expect(&e, d, 0, "h.%d.mlp.c_proj.bias", i);
    }
    expect_norm(&e, d, "ln_f");
    assert_int_equal(hd_safetensors_count(s), e.count);
    const hd_real *file =
                      (const hd_real *)(const void *)hd_safetensors_find(s, "h.1.attn.c_attn.weight")->data,
                  *memory = m.g->stack.block[1].self.qkv->t.data;
    for (size_t in = 0; in < d; in++)
        for (size_t out = 0; out < 3 * d; out++) assert_true(file[in * 3 * d + out] == memory[out * d + in]);
    hd_safetensors_free(s);
    model_free(&m);
}

/* Copies the file, tensor `name` left out, renamed (to), or with its two dimensions exchanged. */
typedef enum change { LEAVE_OUT, RENAME, EXCHANGE, ADD } change;

static void rewrite(const char *name, change how, const char *to)
{
    hd_err err = {0};
    hd_safetensors *s = open_file(path);
    size_t count = hd_safetensors_count(s), n = 0;
    hd_named *entry = calloc(count + 1, sizeof *entry);
    hd_tensor *shape = calloc(count + 1, sizeof *shape);
    hd_real extra[6] = {0};
    bool seen = how == ADD;
    for (size_t i = 0; i < count; i++) {
        const hd_entry *e = hd_safetensors_at(s, i);
        bool this = !strcmp(e->name, name);
        seen |= this;
        if (this && how == LEAVE_OUT) continue;
        shape[n] = hd_shaped((void *)(uintptr_t)e->data, e->dtype, e->rank, e->shape);
        if (this && how == EXCHANGE)
            shape[n] = hd_shaped(shape[n].data, e->dtype, 2, (const size_t[]){e->shape[1], e->shape[0]});
        entry[n] = (hd_named){this && how == RENAME ? to : e->name, &shape[n]};
        n++;
    }
    assert_true(seen);
    if (how == ADD)
        shape[n] = hd_shaped(extra, HD_F32, 4, (const size_t[]){1, 1, 2, 3}),
        entry[n] = (hd_named){name, &shape[n]}, n++;
    if (hd_safetensors_save(other, entry, n, NULL, 0, &err)) fail_msg("%s", err.text);
    free(entry), free(shape);
    hd_safetensors_free(s);
}

static void a_tied_table_may_stand_under_any_of_its_names(void **state)
{
    (void)state;
    static const struct {
        size_t config;
        const char *main, *alias;
    } cases[] = {
        {0, "model.shared.weight", "lm_head.weight"},
        {0, "model.shared.weight", "model.encoder.embed_tokens.weight"},
        {0, "model.shared.weight", "model.decoder.embed_tokens.weight"},
        {3, "wte.weight", "lm_head.weight"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err;
        model a = model_of(&configs[cases[i].config], 1), b = model_of(&configs[cases[i].config], 2);
        save(&a, path);
        rewrite(cases[i].main, RENAME, cases[i].alias);
        if (load(&b, other, &err)) fail_msg("%s for %s: %s", cases[i].alias, cases[i].main, err.text);
        assert_same_values(&a, &b);
        model_free(&a), model_free(&b);
    }
}

/* As GPT-2 with its head is saved: every name of the body with a prefix, the tied table under either of its
 * names. */
static void names_may_have_the_prefix_of_the_model(void **state)
{
    (void)state;
    static const char *const tables[] = {"transformer.wte.weight", "lm_head.weight"};
    for (size_t t = 0; t < COUNT_OF(tables); t++) {
        hd_err err = {0};
        model a = model_of(&configs[3], 1), b = model_of(&configs[3], 2);
        save(&a, path);
        hd_safetensors *s = open_file(path);
        size_t count = hd_safetensors_count(s);
        hd_named *entry = calloc(count, sizeof *entry);
        hd_tensor *shape = calloc(count, sizeof *shape);
        char(*name)[128] = calloc(count, sizeof *name);
        for (size_t i = 0; i < count; i++) {
            const hd_entry *e = hd_safetensors_at(s, i);
            bool table = !strcmp(e->name, "wte.weight");
            snprintf(name[i], sizeof *name, "%s%s", table ? "" : "transformer.", table ? tables[t] : e->name);
            shape[i] = hd_shaped((void *)(uintptr_t)e->data, e->dtype, e->rank, e->shape);
            entry[i] = (hd_named){name[i], &shape[i]};
        }
        if (hd_safetensors_save(other, entry, count, NULL, 0, &err)) fail_msg("%s", err.text);
        hd_safetensors_free(s);
        if (load(&b, other, &err)) fail_msg("%s: %s", tables[t], err.text);
        assert_same_values(&a, &b);
        free(entry), free(shape), free(name);
        model_free(&a), model_free(&b);
    }
}

/* What was there before does not stay. */
static void an_output_bias_that_the_file_lacks_is_zero(void **state)
{
    (void)state;
    hd_err err;
    model a = model_of(&configs[1], 1), b = model_of(&configs[1], 2);
    hd_param *bias[] = {a.t->output_bias, b.t->output_bias};
    hd_real *zero = calloc(hd_count_of(&bias[0]->t), sizeof *zero);
    assert_memory_not_equal(bias[1]->t.data, zero, hd_count_of(&bias[1]->t) * sizeof *zero);
    save(&a, path);
    rewrite("final_logits_bias", LEAVE_OUT, NULL);
    if (load(&b, other, &err)) fail_msg("%s", err.text);
    hd_params_set(a.params, bias[0], zero);
    assert_same_values(&a, &b);
    free(zero);
    model_free(&a), model_free(&b);
}

static void a_file_that_lacks_a_tensor_or_has_another_shape_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        size_t config;
        const char *name;
        change how;
        hd_status status;
        const char *says;
    } cases[] = {
        {0, "model.shared.weight", LEAVE_OUT, HD_EFORMAT, "has no tensor 'model.shared.weight'"},
        {0, "model.decoder.layers.1.encoder_attn.k_proj.bias", LEAVE_OUT, HD_EFORMAT,
         "has no tensor 'model.decoder.layers.1.encoder_attn.k_proj.bias'"},
        {0, "model.encoder.layers.0.fc1.weight", EXCHANGE, HD_ESHAPE,
         "'model.encoder.layers.0.fc1.weight' has shape [32,64], [64,32] is wanted"},
        {3, "wte.weight", LEAVE_OUT, HD_EFORMAT, "has no tensor 'wte.weight'"},
        {3, "h.1.mlp.c_fc.weight", EXCHANGE, HD_ESHAPE,
         "'h.1.mlp.c_fc.weight' has shape [128,32], [32,128] is wanted"},
        {3, "ln_f.bias", LEAVE_OUT, HD_EFORMAT, "has no tensor 'ln_f.bias'"},
        {1, "final_logits_bias", EXCHANGE, HD_ESHAPE,
         "'final_logits_bias' has shape"}, /* optional, but not in any shape */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err;
        model a = model_of(&configs[cases[i].config], 1);
        save(&a, path);
        rewrite(cases[i].name, cases[i].how, NULL);
        size_t blocks = hd_mem_now().blocks;
        assert_int_equal(load(&a, other, &err), cases[i].status);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, other))
            fail_msg("'%s' does not say '%s' and the file", err.text, cases[i].says);
        assert_int_equal(hd_mem_now().blocks, blocks);
        model_free(&a);
    }
}

static void tensors_that_the_model_does_not_know_are_ignored(void **state)
{
    (void)state;
    hd_err err;
    model a = model_of(&configs[3], 1), b = model_of(&configs[3], 2);
    save(&a, path);
    rewrite("h.0.attn.bias", ADD, NULL); /* GPT-2 files hold their causal masks */
    if (load(&b, other, &err)) fail_msg("%s", err.text);
    assert_same_values(&a, &b);
    model_free(&a), model_free(&b);
}

/* Whole numbers that every float type holds, each at its place: in memory [rows, cols], in a file perhaps
 * turned. */
static double mark(size_t row, size_t col)
{
    return (double)((row * 31 + col * 7) % 255) - 127;
}

typedef struct held {
    const char *name;
    size_t rows, cols;
    bool transposed;
    size_t first; /* row of the whole that is its first */
} held;

/* Sides that no square divides, a part that is turned, a vector, and more numbers than are mapped at once. */
static const held holds[] = {
    {"turned", 130, 67, true, 0}, {"thin", 1, 300, true, 0},   {"upper", 65, 70, true, 0},
    {"lower", 66, 70, false, 65}, {"vector", 0, 77, false, 0}, {"table", 2050, 2049, false, 0},
};

static void put_large(hd_dtype type)
{
    hd_err err = {0};
    hd_named entry[COUNT_OF(holds)];
    hd_tensor shape[COUNT_OF(holds)];
    for (size_t i = 0; i < COUNT_OF(holds); i++) {
        const held *h = &holds[i];
        size_t rows = h->rows ? h->rows : 1, count = rows * h->cols;
        double *x = malloc(count * sizeof *x);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < h->cols; c++)
                x[h->transposed ? c * rows + r : r * h->cols + c] = mark(r, c);
        void *data = malloc(count * sizeof *x);
        hd_convert(data, type, x, HD_F64, count);
        free(x);
        shape[i] = h->rows ? hd_shaped(data, type, 2,
                                       h->transposed ? (const size_t[]){h->cols, h->rows}
                                                     : (const size_t[]){h->rows, h->cols})
                           : hd_shaped(data, type, 1, &h->cols);
        entry[i] = (hd_named){h->name, &shape[i]};
    }
    if (hd_safetensors_save(path, entry, COUNT_OF(holds), NULL, 0, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(holds); i++) free(shape[i].data);
}

static void make_large(hd_params *p, hd_backend *b)
{
    hd_err err = {0};
    hd_param *one = NULL;
    hd_params_init(p, b);
    hd_param *whole = hd_param_hidden(p, 65 + 66, 70, (hd_init){0});
    for (size_t i = 0; i < COUNT_OF(holds); i++) {
        const held *h = &holds[i];
        if (h->cols == 70)
            one = hd_param_part(p, whole, h->first, h->rows, (hd_init){0}, "%s", h->name);
        else if (h->rows)
            one = hd_param_add(p, h->rows, h->cols, (hd_init){0}, "%s", h->name);
        else
            one = hd_param_add(p, h->cols, 0, (hd_init){0}, "%s", h->name);
        one->transposed = h->transposed;
    }
    if (hd_params_ready(p, false, &err)) fail_msg("%s", err.text);
}

/* team: whether the backend says that its memory is the host's, as a device does not. */
static void loads_and_saves_large(hd_dtype type, int threads, bool team)
{
    hd_err err = {0};
    hd_params p;
    hd_backend *b = backend_of("cpu", threads);
    if (!team) b->team = NULL;
    make_large(&p, b);
    hd_safetensors *s = open_file(path);
    if (hd_params_load(&p, s, &err)) fail_msg("%s", err.text);
    hd_safetensors_free(s);
    for (size_t i = 0; i < COUNT_OF(holds); i++) {
        const held *h = &holds[i];
        const hd_real *x = hd_params_find(&p, h->name)->t.data;
        for (size_t r = 0; r < (h->rows ? h->rows : 1); r++)
            for (size_t c = 0; c < h->cols; c++)
                if ((double)x[r * h->cols + c] != mark(r, c))
                    fail_msg("%s of %s, %d threads: %g at %zu, %zu", h->name, hd_dtype_name(type), threads,
                             (double)x[r * h->cols + c], r, c);
    }
    if (hd_params_save(&p, other, NULL, 0, &err)) fail_msg("%s", err.text);
    if (type == HD_REAL) assert_same_bytes(path, other);
    hd_params_release(&p);
    hd_backend_free(b);
}

static void large_tensors_of_every_float_type_find_their_places(void **state)
{
    (void)state;
    static const hd_dtype types[] = {HD_F32, HD_BF16, HD_F16, HD_F64};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        put_large(types[t]);
        for (int threads = 1; threads <= 3; threads++) loads_and_saves_large(types[t], threads, true);
        loads_and_saves_large(types[t], 1, false);
    }
}

static void a_file_may_have_another_shape(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_params p;
    hd_backend *b = backend_of("cpu", 1);
    const size_t conv[] = {4, 3, 2, 2}, lead[] = {1, 1, 5};
    hd_params_init(&p, b);
    hd_param *w = hd_param_add(&p, 4, 12, (hd_init){HD_INIT_NORMAL, 1, 0}, "conv");
    hd_param *v = hd_param_add(&p, 1, 5, (hd_init){HD_INIT_NORMAL, 1, 0}, "lead");
    hd_param_shape(w, 4, conv), hd_param_shape(v, 3, lead);
    if (hd_params_ready(&p, false, &err) || hd_params_draw(&p, 3, &err)) fail_msg("%s", err.text);
    hd_real kept[48];
    memcpy(kept, w->t.data, sizeof kept);
    if (hd_params_save(&p, path, NULL, 0, &err)) fail_msg("%s", err.text);
    hd_safetensors *s = open_file(path);
    const hd_entry *e = hd_safetensors_find(s, "conv");
    assert_int_equal(e->rank, 4);
    assert_memory_equal(e->shape, conv, sizeof conv);
    assert_int_equal(hd_safetensors_find(s, "lead")->rank, 3);
    memset(w->t.data, 0, sizeof kept);
    if (hd_params_load(&p, s, &err)) fail_msg("%s", err.text);
    assert_memory_equal(w->t.data, kept, sizeof kept);
    hd_param_shape(w, 4, (const size_t[]){4, 2, 3, 2});
    assert_int_equal(hd_params_load(&p, s, &err), HD_ESHAPE);
    assert_non_null(strstr(err.text, "[4,3,2,2], [4,2,3,2] is wanted"));
    hd_safetensors_free(s);
    hd_params_release(&p);
    hd_backend_free(b);
}

/* Of the weights there is one copy, the model's: the file's pages go as they are read, and what is turned is
 * turned a tensor at a time. */
static void loading_and_saving_take_the_memory_of_one_tensor_more(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_params p;
    hd_backend *b = backend_of("cpu", 1);
    put_large(HD_F32);
    make_large(&p, b);
    hd_safetensors *s = open_file(path);
    hd_mem_peak_reset();
    size_t before = hd_mem_now().used;
    if (hd_params_load(&p, s, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_mem_now().peak, before);
    if (hd_params_save(&p, other, NULL, 0, &err)) fail_msg("%s", err.text);
    size_t turned = 130 * 67 * sizeof(hd_real),
           bookkeeping = 128 * 1024; /* the header, and the buffer of a file */
    assert_in_range(hd_mem_now().peak - before, turned, turned + bookkeeping);
    hd_safetensors_free(s);
    hd_params_release(&p);
    hd_backend_free(b);
}

/* What the message must name: the tensor and the file. */
static void assert_refuses_broken(const char *name, hd_dtype type, int threads, bool team)
{
    hd_err err = {0};
    hd_params p;
    hd_backend *b = backend_of("cpu", threads);
    if (!team) b->team = NULL;
    make_large(&p, b);
    hd_safetensors *s = open_file(path);
    char tensor[64];
    snprintf(tensor, sizeof tensor, "model.safetensors: tensor '%s' holds NaN", name);
    if (hd_params_load(&p, s, &err) != HD_ENUMBER || !strstr(err.text, tensor))
        fail_msg("%s of %s: '%s'", name, hd_dtype_name(type), err.text);
    hd_safetensors_free(s);
    hd_params_release(&p);
    hd_backend_free(b);
}

static void weights_that_are_no_numbers_are_refused_by_name(void **state)
{
    (void)state;
    static const hd_dtype types[] = {HD_F32, HD_BF16, HD_F16, HD_F64};
    static const struct {
        const char *name;
        size_t index;
        double value;
    } cases[] = {
        {"turned", 0, NAN},      {"turned", 130 * 67 - 1, INFINITY}, {"thin", 299, -INFINITY},
        {"lower", 65 * 70, NAN}, {"vector", 76, INFINITY},           {"table", 2050 * 2049 - 1, NAN},
    };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        put_large(types[t]);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            spoil(path, cases[i].name, cases[i].index, 1, cases[i].value);
            assert_refuses_broken(cases[i].name, types[t], 2, true);
            if (types[t] == HD_F32) assert_refuses_broken(cases[i].name, types[t], 1, false);
            spoil(path, cases[i].name, cases[i].index, 1, 0);
        }
    }
    put_large(HD_F64);
    spoil(path, "vector", 3, 1, 1e300); /* a number there, but none that a float holds */
    assert_refuses_broken("vector", HD_F64, 1, true);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    hd_err err = {0};
    model m = model_of(&configs[0], 1);
    size_t blocks = hd_mem_now().blocks;
    assert_int_equal(
        hd_params_save(m.params, "/tmp/heed/there/is/no/such/folder/model.safetensors", NULL, 0, &err),
        HD_EFILE);
    assert_non_null(strstr(err.text, "/no/such/folder"));
    assert_int_equal(hd_mem_now().blocks, blocks);
    model_free(&m);
}

static void two_parameters_of_one_name_are_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_params p;
    hd_init zero = {HD_INIT_ZERO, 0, 0};
    hd_params_init(&p, b);
    hd_param *first = hd_param_add(&p, 2, 3, zero, "layer.%d.weight", 7);
    assert_non_null(first);
    assert_ptr_equal(hd_params_find(&p, "layer.7.weight"), first);
    assert_null(hd_params_find(&p, "layer.8.weight"));
    assert_non_null(hd_param_hidden(&p, 2, 3, zero)); /* the nameless may be many */
    assert_non_null(hd_param_hidden(&p, 2, 3, zero));
    assert_null(hd_param_alias(&p, first, "layer.7.weight"));
    assert_null(hd_param_add(&p, 2, 3, zero, "another")); /* the first failure stays */
    assert_int_equal(hd_params_ready(&p, true, &err), HD_EARG);
    assert_string_equal(err.text, "two parameters are called 'layer.7.weight'");
    hd_params_release(&p);
    hd_backend_free(b);
}

typedef struct moments {
    double mean, variance, least, most, inside; /* inside: share within one standard deviation of 0 */
} moments;

static moments moments_of(const hd_real *x, size_t n)
{
    moments m = {.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < n; i++) m.mean += (double)x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i];
        m.variance += (v - m.mean) * (v - m.mean) / (double)n;
        m.least = v < m.least ? v : m.least, m.most = v > m.most ? v : m.most;
    }
    for (size_t i = 0; i < n; i++) m.inside += (fabs((double)x[i]) <= sqrt(m.variance)) / (double)n;
    return m;
}

/* Five standard errors of each estimate: with a fixed seed the test is no lottery, and a wrong draw would be
 * far outside. */
static void initial_values_have_the_bounds_and_variances_they_should(void **state)
{
    (void)state;
    enum { R = 400, C = 300 };
    static const struct {
        const char *name;
        hd_init init;
        size_t rows, cols;
        double reach, deviation; /* of a uniform draw; else of a normal one */
    } cases[] = {
        {"xavier", {HD_INIT_XAVIER, 0, 0}, R, C, 0.092582010 /* sqrt(6/700) */, 0},
        {"xavier scaled", {HD_INIT_XAVIER, 0.5f, 0}, R, C, 0.046291005, 0},
        {"normal", {HD_INIT_NORMAL, 0.02f, 0}, R, C, 0, 0.02},
        {"normal of 1", {HD_INIT_NORMAL, 0, 0}, R, C, 0, 1},
        {"torch", {HD_INIT_TORCH, 0, 0}, R, C, 0.057735027 /* 1/sqrt(300) */, 0},
        {"torch bias", {HD_INIT_TORCH, 1, 25}, 50000, 0, 0.2, 0},
        {"zero", {HD_INIT_ZERO, 0, 0}, R, C, 0, 0},
    };
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_params p;
    hd_params_init(&p, b);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        hd_param_add(&p, cases[i].rows, cases[i].cols, cases[i].init, "%s", cases[i].name);
    hd_param *one = hd_param_add(&p, 100, 0, (hd_init){HD_INIT_ONE, 0, 0}, "one");
    if (hd_params_ready(&p, false, &err) || hd_params_draw(&p, 3, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t count = hd_count_of(&p.list[i]->t);
        double n = (double)count, reach = cases[i].reach,
               expected = reach > 0 ? reach * reach / 3 : cases[i].deviation * cases[i].deviation;
        moments m = moments_of(p.list[i]->t.data, count);
        double variance_error = reach > 0 ? sqrt(0.8 / n) : sqrt(2 / n),
               share = reach > 0 ? 1 / sqrt(3) : 0.682689; /* kurtosis 1.8 and 3 */
        print_message("%-14s deviation %.6f (%.6f), in [%.4f, %.4f]\n", cases[i].name, sqrt(m.variance),
                      sqrt(expected), m.least, m.most);
        assert_true(fabs(m.variance - expected) <= 5 * expected * variance_error);
        assert_true(fabs(m.mean) <= 5 * sqrt(expected / n));
        if (expected > 0) assert_true(fabs(m.inside - share) <= 5 * sqrt(share * (1 - share) / n));
        if (reach <= 0) continue;
        assert_true(m.most <= reach * 1.000001 && m.least >= -reach * 1.000001);
        assert_true(m.most >= reach * 0.999 &&
                    m.least <= -reach * 0.999); /* chance of missing it: (1 - 0.0005)^50000 */
    }
    for (size_t i = 0; i < 100; i++) assert_true(((hd_real *)one->t.data)[i] == 1);
    hd_params_release(&p);
    hd_backend_free(b);
}

static void parts_are_drawn_by_their_own_shape(void **state)
{
    (void)state;
    model m = model_of(&configs[0], 1);
    size_t c = m.t->opt.stack.width;
    for (size_t i = 0; i < 3; i++) {
        moments q = moments_of(
            (const hd_real *)m.t->encoder.stage[0].stack.block[0].self.qkv->t.data + i * c * c, c * c);
        assert_true(q.most <= sqrt(3 / (double)c) * 1.000001);
        assert_true(q.most >=
                    sqrt(3 / (double)c) * 0.98); /* [3C,C] as a whole would reach sqrt(1.5/C) alone */
    }
    model_free(&m);
}

static void the_seed_decides_all_values_and_nothing_else_does(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(configs); c++) {
        model a = model_of(&configs[c], 5), b = model_of(&configs[c], 5), d = model_of(&configs[c], 6);
        assert_same_values(&a, &b);
        assert_memory_not_equal(a.params->value, d.params->value, a.params->total * sizeof(hd_real));
        model_free(&a), model_free(&b), model_free(&d);
    }
}

static void adding_a_parameter_changes_no_other(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_init normal = {HD_INIT_NORMAL, 1, 0};
    hd_params few, many;
    hd_params_init(&few, b), hd_params_init(&many, b);
    hd_param *x = hd_param_add(&few, 11, 3, normal, "x"), *y = hd_param_add(&few, 7, 0, normal, "y");
    hd_param_add(&many, 5, 5, normal, "first");
    hd_param *y2 = hd_param_add(&many, 7, 0, normal, "y");
    hd_param_add(&many, 5, 0, normal, "between")->group = 2;
    hd_param *x2 = hd_param_add(&many, 11, 3, normal, "x");
    if (hd_params_ready(&few, false, &err) || hd_params_ready(&many, true, &err) ||
        hd_params_draw(&few, 3, &err) || hd_params_draw(&many, 3, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(x->t.data, x2->t.data, 33 * sizeof(hd_real));
    assert_memory_equal(y->t.data, y2->t.data, 7 * sizeof(hd_real));
    assert_memory_not_equal(x->t.data, y->t.data, 7 * sizeof(hd_real)); /* each has a stream of its own */
    hd_params_release(&few), hd_params_release(&many);
    hd_backend_free(b);
}

/* Values from hf-formats.md, section 3: d = 8, t = 1. */
static void sinusoids_are_those_of_marian_and_survive_the_drawing(void **state)
{
    (void)state;
    static const double row[8] = {.84147096, .09983341, .00999983, .00100000,
                                  .54030228, .99500418, .99994999, .99999952};
    hd_backend *b = backend_of("cpu", 1);
    hd_encdec_opt o = toy_opt();
    o.stack.width = 8, o.stack.heads = 2;
    hd_encdec *m = toy_transformer(b, &o, true);
    const hd_real *table = m->target.position->t.data;
    for (size_t i = 0; i < 8; i++) {
        assert_true(table[i] == (i < 4 ? 0 : 1));
        assert_true(fabs((double)table[8 + i] - row[i]) <= 5e-8); /* as many digits as the note gives */
    }
    assert_false(m->target.position->t.wants_grad);
    hd_encdec_free(m);
    hd_backend_free(b);
}

/* Weights and biases of Linear(in, out), LayerNorm(width). */
static size_t linear(size_t in, size_t out)
{
    return in * out + out;
}
static size_t norm(size_t width)
{
    return 2 * width;
}

/* Sizes on the null backend, which has room for any model. */
static void parameters_are_counted_as_in_the_literature(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("null", 1);
    static const struct {
        int layers, heads;
        size_t width, count;
    } gpt2[] = {{12, 12, 768, 124439808},
                {24, 16, 1024, 354823168},
                {36, 20, 1280, 774030080},
                {48, 25, 1600, 1557611200}};
    for (size_t i = 0; i < COUNT_OF(gpt2); i++) {
        hd_gpt *g = NULL;
        hd_gpt_opt o = {.stack.pre_norm = true,
                        .stack.layers = gpt2[i].layers,
                        .stack.heads = gpt2[i].heads,
                        .stack.width = gpt2[i].width,
                        .vocab = 50257,
                        .positions = 1024,
                        .stack.eps = 1e-5f,
                        .stack.act = HD_gelu_tanh};
        if (hd_gpt_new(&g, b, &o, true, &err)) fail_msg("%s", err.text);
        assert_int_equal(hd_params_size(&g->params), gpt2[i].count);
        hd_gpt_free(g);
    }
    size_t d = 512, f = 2048, v = 16000, attention = 4 * linear(d, d), ffn = linear(d, f) + linear(f, d);
    size_t base = v * d + 6 * (attention + ffn + 2 * norm(d)) + 6 * (2 * attention + ffn + 3 * norm(d));
    assert_int_equal(base, 52330496);
    hd_encdec_opt o = {.encoder_layers = 6,
                       .decoder_layers = 6,
                       .stack.heads = 8,
                       .stack.width = d,
                       .stack.inner = f,
                       .source_vocab = v,
                       .target_vocab = v,
                       .tied = true,
                       .stack.eps = 1e-5f,
                       .stack.act = HD_relu,
                       .positions = 1024};
    static const struct {
        bool untied, pre_norm, plain, output_bias, learned;
    } cases[] = {
        {0}, {.untied = true}, {.pre_norm = true}, {.output_bias = true}, {.learned = true}, {.plain = true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_encdec *m = NULL;
        o.tied = !cases[i].untied, o.stack.pre_norm = cases[i].pre_norm, o.stack.plain = cases[i].plain,
        o.output_bias = cases[i].output_bias, o.learned_positions = cases[i].learned;
        if (hd_encdec_new(&m, b, &o, true, &err)) fail_msg("%s", err.text);
        size_t count = base;
        if (cases[i].untied) count += 2 * v * d;
        if (cases[i].pre_norm) count += 2 * norm(d);
        if (cases[i].output_bias) count += v;
        if (cases[i].learned) count += 1024 * d;
        if (cases[i].plain) count -= 18 * 4 * d + 30 * norm(d);
        assert_int_equal(hd_params_size(&m->params), count);
        /* buffers hold them, the sinusoids and up to a cache line of slack each; gradients are for what is
         * trained alone */
        assert_true(m->params.trainable >= count && m->params.trainable < count + m->params.count * 16);
        assert_true(m->params.total == m->params.trainable + (cases[i].learned ? 0 : 1024 * d));
        hd_encdec_free(m);
    }
    hd_backend_free(b);
}

static void options_that_make_no_model_are_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    size_t blocks = hd_mem_now().blocks;
    for (int i = 0; i < 6; i++) {
        hd_err err = {0};
        hd_encdec *m = NULL;
        hd_encdec_opt o = toy_opt();
        if (i == 0) o.stack.heads = 5;
        if (i == 1) o.stack.heads = 0;
        if (i == 2) o.decoder_layers = 0;
        if (i == 3) o.target_vocab++;
        if (i == 4) o.stack.width = 0;
        if (i == 5) o.positions = 0;
        assert_int_equal(hd_encdec_new(&m, b, &o, false, &err), HD_EARG);
        assert_true(strlen(err.text) > 20);
        assert_null(m);
        hd_gpt *g = NULL;
        hd_gpt_opt p = toy_gpt_opt();
        if (i == 0) p.stack.heads = 5;
        if (i == 1) p.stack.heads = 0;
        if (i == 2) p.stack.layers = 0;
        if (i == 3) p.vocab = 0;
        if (i == 4) p.stack.width = 0;
        if (i == 5) p.positions = 0;
        err = (hd_err){0};
        assert_int_equal(hd_gpt_new(&g, b, &p, false, &err), HD_EARG);
        assert_true(strlen(err.text) > 20);
        assert_null(g);
    }
    assert_int_equal(hd_mem_now().blocks, blocks);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_comes_back_byte_for_byte),
        cmocka_unit_test(a_transformer_file_has_marian_names_and_shapes),
        cmocka_unit_test(q_k_and_v_are_one_product_in_memory_and_three_tensors_in_the_file),
        cmocka_unit_test(a_gpt_file_has_gpt2_names_shapes_and_orientation),
        cmocka_unit_test(a_tied_table_may_stand_under_any_of_its_names),
        cmocka_unit_test(names_may_have_the_prefix_of_the_model),
        cmocka_unit_test(an_output_bias_that_the_file_lacks_is_zero),
        cmocka_unit_test(a_file_that_lacks_a_tensor_or_has_another_shape_is_refused_by_name),
        cmocka_unit_test(tensors_that_the_model_does_not_know_are_ignored),
        cmocka_unit_test(large_tensors_of_every_float_type_find_their_places),
        cmocka_unit_test(a_file_may_have_another_shape),
        cmocka_unit_test(loading_and_saving_take_the_memory_of_one_tensor_more),
        cmocka_unit_test(weights_that_are_no_numbers_are_refused_by_name),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
        cmocka_unit_test(two_parameters_of_one_name_are_refused),
        cmocka_unit_test(initial_values_have_the_bounds_and_variances_they_should),
        cmocka_unit_test(parts_are_drawn_by_their_own_shape),
        cmocka_unit_test(the_seed_decides_all_values_and_nothing_else_does),
        cmocka_unit_test(adding_a_parameter_changes_no_other),
        cmocka_unit_test(sinusoids_are_those_of_marian_and_survive_the_drawing),
        cmocka_unit_test(parameters_are_counted_as_in_the_literature),
        cmocka_unit_test(options_that_make_no_model_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Language models that learn sums from rewards. */
#include "lab/pretrained/school.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { SUMS = 12, UPDATES = 800, GROUPS = 8, TEXTS = GROUPS * HD_SCHOOL_EACH, TOKENS = 3, WIDTH = 32 };

static bool next_lesson(void *context, hd_line *line)
{
    hd_school *c = context;
    if (c->at >= c->lessons.size) return false;
    *line = (hd_line){c->lessons.data + c->at, strcspn(c->lessons.data + c->at, "\n")};
    c->at += line->size + 1;
    return true;
}

hd_status hd_school_open(hd_school *c, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    static const hd_texts exact = {{"exact"}, 1};
    hd_ids ids = {0};
    hd_line line;
    *c = (hd_school){.sums = {.digits = 1, .seed = seed}};
    hd_status s = hd_mem_reserve(&c->prompts.at, &c->prompts.room, SUMS, sizeof *c->prompts.at, err);
    for (uint64_t i = 0; !s && i < SUMS; i++) {
        hd_prompt *p = &c->prompts.at[c->prompts.count++];
        hd_text *t = &c->prompts.bytes;
        p->prompt = t->size, hd_sum_put_prompt(t, &c->sums, hd_sum_at(&c->sums, i)),
        p->prompt_size = t->size - p->prompt;
        hd_text_add(t, "", 1);
        p->answer = t->size, hd_sum_put_answer(t, &c->sums, hd_sum_at(&c->sums, i), 0, 0);
        p->answer_size = t->size - p->answer;
        hd_text_add(t, "", 1);
    }
    for (uint64_t i = 0; i < HD_SCHOOL_LINES; i++) {
        hd_sum sum = hd_sum_at(&c->sums, i % SUMS);
        hd_sum_put_prompt(&c->lessons, &c->sums, sum);
        hd_sum_put_answer(&c->lessons, &c->sums, sum, HD_SCHOOL_NOISE, (uint32_t)i);
        hd_text_put(&c->lessons, "\n");
    }
    if (!s) s = hd_text_status(&c->prompts.bytes, err);
    if (!s) s = hd_text_status(&c->lessons, err);
    if (!s)
        s = hd_tokenizer_train(&c->folder.tokenizer[0], HD_TOKENIZER_characters, (hd_feed){next_lesson, c},
                               &(hd_tokenizer_opt){0}, err);
    for (c->at = 0; !s && next_lesson(c, &line);) {
        s = hd_tokenizer_encode_ids(c->folder.tokenizer[0], line.text, line.size, &ids, err);
        if (!s) s = hd_ids_reserve(&ids, ids.count + 1, err);
        if (!s) ids.at[ids.count++] = HD_END_ID;
    }
    if (!s) {
        hd_lm_opt o = hd_pupil_model(HD_LM_gpt, WIDTH, hd_tokenizer_size(c->folder.tokenizer[0]));
        o.stack.layers = 2, o.stack.relative_span = 8, o.no_positions = true; /* sums stand anywhere */
        s = hd_pupil_open(&c->pupil, lab->run, &o, seed, err);
    }
    if (!s) s = hd_pupil_learn(&c->pupil, ids.at, ids.count, UPDATES, 0.01, err);
    if (!s) s = hd_rewards_new(&c->rewards, &exact, NULL, err);
    if (!s) hd_model_folder_take(&c->folder, HD_TRAIN_LM, hd_lm_model(c->pupil.model));
    c->author = (hd_author){lab->run, &c->folder, c->rewards, NULL, TOKENS};
    hd_ids_release(&ids);
    return s;
}

void hd_school_close(hd_school *c)
{
    c->folder.model = (hd_model){0}; /* the pupil's */
    hd_model_folder_release(&c->folder);
    hd_pupil_close(&c->pupil);
    hd_rewards_free(c->rewards);
    hd_prompts_release(&c->prompts);
    hd_text_release(&c->lessons);
}

/* -- an update -- */

static void weigh(hd_school *c, hd_rollout *o, const hd_groups *g)
{
    for (size_t i = 0; i < GROUPS; i++) {
        double a[HD_SCHOOL_EACH], mean = 0, squares = 0;
        bool alive = hd_advantages(a, g->reward + i * HD_SCHOOL_EACH, HD_SCHOOL_EACH, true);
        for (size_t k = 0; k < HD_SCHOOL_EACH; k++)
            o->advantage[i * HD_SCHOOL_EACH + k] = (float)a[k], mean += a[k] / HD_SCHOOL_EACH;
        for (size_t k = 0; k < HD_SCHOOL_EACH; k++) squares += (a[k] - mean) * (a[k] - mean);
        c->mean = fmax(c->mean, fabs(mean));
        if (alive) c->deviation = fmax(c->deviation, fabs(sqrt(squares / (HD_SCHOOL_EACH - 1)) - 1));
    }
}

/* Texts that are better than others of their group become likelier. */
static hd_status learn(hd_school *c, const hd_rollout *o, hd_err *err)
{
    hd_lm *m = c->pupil.model;
    hd_window w[TEXTS];
    const hd_stream_text text = hd_rollout_text(o);
    size_t row = 0, tokens = 0;
    hd_lm_batch b;
    for (size_t i = 0; i < TEXTS; i++) w[i] = hd_rollout_window(o, i);
    hd_run *r = hd_course_begin(&c->pupil.course);
    hd_windows_send(r, &b, m, &text, w, NULL, TEXTS);
    if (!b.seg) return hd_run_status(r, err);
    const size_t rows = b.seg->rows;
    hd_real *policy = hd_host_take(r, rows * HD_POLICY_COLUMNS * sizeof *policy),
            *weight = hd_host_take(r, rows * sizeof *weight);
    if (!policy || !weight) return hd_run_status(r, err);
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < w[i].len; k++, row++) {
            if (k < w[i].skip) continue;
            policy[row * HD_POLICY_COLUMNS + HD_POLICY_ADVANTAGE] = o->advantage[i];
            policy[row * HD_POLICY_COLUMNS + HD_POLICY_BEFORE] = NAN;
            weight[row] = 1, tokens++;
        }
    m->type->lm.loss(r, m, &b, NULL,
                     &(hd_loss_opt){.coef = 1,
                                    .weight = hd_from(r, rows, 1, weight),
                                    .policy_rows = hd_from(r, rows, HD_POLICY_COLUMNS, policy),
                                    .policy = {0.2f, 0.2f, 0}});
    return hd_course_end(&c->pupil.course, 0.001, (double)tokens, err);
}

hd_status hd_school_turn(hd_school *c, uint64_t number, hd_err *err)
{
    hd_groups g;
    hd_rollout o = {0};
    size_t which[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) which[i] = (number * GROUPS + i) % SUMS;
    hd_status s = hd_groups_init(&g, GROUPS, HD_SCHOOL_EACH, err);
    if (!s)
        s = hd_groups_draw(&g, &c->author, &c->prompts, which, 0, GROUPS, c->pupil.course.seed ^ number << 20,
                           1, err);
    if (!s) s = hd_rollout_lay(&o, &g, c->pupil.model, err);
    if (!s) weigh(c, &o, &g);
    if (!s) s = learn(c, &o, err);
    hd_rollout_release(&o);
    hd_groups_release(&g);
    return s;
}

hd_status hd_school_judge(double *pass, double *vote, hd_school *c, hd_err *err)
{
    hd_groups g;
    size_t which[SUMS];
    for (size_t i = 0; i < SUMS; i++) which[i] = i;
    hd_status s = hd_groups_init(&g, SUMS, HD_SCHOOL_JUDGED, err);
    if (!s) s = hd_groups_draw(&g, &c->author, &c->prompts, which, 0, SUMS, 5, 1, err);
    *pass = *vote = 0;
    for (size_t i = 0; !s && i < SUMS; i++) {
        hd_answer a[HD_SCHOOL_JUDGED];
        size_t right = 0;
        for (size_t k = 0; k < HD_SCHOOL_JUDGED; k++) {
            const hd_generated *t = &g.made[i * HD_SCHOOL_JUDGED + k];
            a[k] = (hd_answer){hd_answer_trimmed((hd_line){t->text.data ? t->text.data : "", t->text.size}),
                               1, t->logp};
            right += g.right[i * HD_SCHOOL_JUDGED + k];
        }
        hd_vote(a, HD_SCHOOL_JUDGED);
        *pass += hd_pass_at(HD_SCHOOL_JUDGED, right, 1) / SUMS;
        *vote += hd_answer_same(a[0].text, hd_prompts_answer(&c->prompts, i)) / (double)SUMS;
    }
    hd_groups_release(&g);
    return s;
}

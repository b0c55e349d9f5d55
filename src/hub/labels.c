/* Labels of published classifiers. What config.json says of them is hostile: their numbers must be 0 to n-1,
   their texts lines of labels.txt. */
#include "hub/labels.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LABELS = 1 << 16 };

static const char LABELS[] = "id2label", PROBLEM[] = "problem_type";

/* -- here -- */

/* apart: a label that is there already gets its number behind it, since some published models of pictures
   call two things alike (the crane). */
static hd_status add_label(hd_model_config *c, hd_vocab *labels, const char *text, bool apart)
{
    char numbered[256];
    size_t before = labels->count, size = strlen(text);
    if (!size || strpbrk(text, "\r\n\t")) {
        hd_model_config_refuse(c, "\"%s\": the label of \"%zu\" is empty or not a line of text", LABELS,
                               before);
        return c->status;
    }
    c->status = hd_vocab_add(labels, text, size, c->err);
    if (!c->status && labels->count == before && apart && size < sizeof numbered - 32) {
        snprintf(numbered, sizeof numbered, "%s (%zu)", text, before);
        c->status = hd_vocab_add(labels, numbered, strlen(numbered), c->err);
    }
    if (!c->status && labels->count == before)
        hd_model_config_refuse(c, "\"%s\" has the label \"%.60s\" twice", LABELS, text);
    return c->status;
}

void hd_family_label_names(hd_model_config *c, hd_vocab *labels, bool apart)
{
    const json_t *object = json_object_get(c->object, LABELS);
    bool named = json_object_size(object) > 0;
    size_t count =
        named ? json_object_size(object) : (size_t)hd_family_whole(c, "num_labels", 1, MOST_LABELS, 2);
    if (count > MOST_LABELS) hd_model_config_refuse(c, "\"%s\" has %zu labels: too many", LABELS, count);
    for (size_t i = 0; !c->status && i < count; i++) {
        char key[32], name[48];
        snprintf(key, sizeof key, "%zu", i), snprintf(name, sizeof name, "LABEL_%zu", i);
        const char *text = named ? json_string_value(json_object_get(object, key)) : name;
        if (!text)
            hd_model_config_refuse(c, "\"%s\" has no label of the number \"%s\"", LABELS, key);
        else
            add_label(c, labels, text, apart);
    }
}

/* Whether a task of texts may have so many labels; *problem is what transformers calls it. */
static bool fits(int task, size_t labels, const char **problem)
{
    const hd_label_kind *kind = hd_label_kind_of((hd_train_task)task);
    if (!kind || !kind->problem) return false;
    *problem = kind->problem;
    return labels >= kind->head->least && labels <= kind->head->most;
}

/* Without a word the first task that has so many labels. */
static hd_train_task task_of(hd_model_config *c, size_t labels)
{
    const char *said = hd_model_config_has(c, PROBLEM) ? hd_model_config_text(c, PROBLEM) : NULL, *problem;
    hd_text known = {0};
    int task = 0;
    for (; task < HD_TRAIN_TASKS; task++) {
        if (!fits(task, labels, &problem)) continue;
        if (!said || !strcmp(said, problem)) break;
        hd_text_print(&known, "%s\"%s\"", known.size ? " or " : "", problem);
    }
    if (task == HD_TRAIN_TASKS)
        hd_model_config_refuse(c, "\"%s\" is \"%.60s\": with %zu label%s heed has %s", PROBLEM,
                               said ? said : "", labels, labels == 1 ? "" : "s",
                               known.missed || !known.size ? "none" : known.data);
    hd_text_release(&known);
    return task == HD_TRAIN_TASKS ? HD_TRAIN_CLASSIFY : (hd_train_task)task;
}

void hd_family_labels_read(hd_model_config *c, hd_passage *p)
{
    hd_classifier_opt *o = &p->classifier;
    hd_family_label_names(c, &p->m.labels, hd_body_reads_pictures(&o->body));
    o->classes = p->m.labels.count;
    p->task = o->pool == HD_POOL_each ? HD_TRAIN_TAG : task_of(c, o->classes);
    p->make = hd_passage_classifier;
    o->head = hd_label_kind_of(p->task)->head;
    if (!o->head->logp) hd_vocab_release(&p->m.labels);
}

bool hd_family_labels_has(hd_model_config *c, const char *body)
{
    const hd_task_folder *task = hd_task_folder_find(hd_model_config_text(c, "task"));
    return hd_family_says(c, "model", body) && task && hd_label_kind_of(task->id);
}

/* -- and back -- */

void hd_family_labels_put(json_t *to, const hd_model_folder *f)
{
    json_t *label_of = json_object(), *id_of = json_object();
    size_t count = f->labels.count;
    for (size_t i = 0; i < (count ? count : 1); i++) {
        char id[32];
        const char *label = count ? hd_vocab_piece(&f->labels, (int32_t)i) : "LABEL_0";
        snprintf(id, sizeof id, "%zu", i);
        hd_json_set(label_of, id, hd_json_string(label));
        hd_json_set(id_of, label, json_integer((json_int_t)i));
    }
    hd_json_set(to, LABELS, label_of);
    hd_json_set(to, "label2id", id_of);
    const hd_label_kind *kind = hd_labeler_kind(f);
    if (kind && kind->problem) hd_json_set(to, PROBLEM, json_string(kind->problem));
}

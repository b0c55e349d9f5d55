/* Fronts of encoders of sound: frames of features in, rows out, fewer than frames where it says so. A kind is
   a line here and a hd_sound_front_type. */
#ifndef HD_MODEL_SOUND_SOUND_ENCODER_H
#define HD_MODEL_SOUND_SOUND_ENCODER_H

#include "data/sound/features.h"
#include "model/config.h"
#include "model/details.h"
#include "nn/front.h"

/* X(name, what it is) */
#define HD_SOUND_FRONT_LIST(X)                                           \
    X(frames, "neighboring frames side by side, through a linear layer") \
    X(conv, "two convolutions over time, the second at every other place, as Whisper has them")

#define X(name, text) HD_SOUND_##name,
typedef enum hd_sound_front_kind { HD_SOUND_FRONT_LIST(X) HD_SOUND_FRONTS } hd_sound_front_kind;
#undef X

extern const char *const hd_sound_front_names[HD_SOUND_FRONTS + 1]; /* ends with NULL */

typedef struct hd_sound_encoder_opt {
    hd_sound_front_kind kind;
    hd_features_opt features; /* how sound becomes frames */
    int stack;                /* frames that become one row */
    size_t width;             /* columns of rows; 0: frames as they are, without a linear layer */
    size_t positions;         /* most rows of an item */
    bool placed; /* sines of positions are added; in published models these are kept in the file */
    hd_sinusoid sinusoid;
    float dropout;
    const char *name; /* of its tensors, borrowed for the making */
} hd_sound_encoder_opt;

typedef struct hd_sound_encoder {
    hd_sound_encoder_opt opt;
    const struct hd_sound_front_type *type;
    hd_dense project;
    hd_dense conv[2];
    hd_param *position; /* where a kind does not make it, it is not in files */
} hd_sound_encoder;

struct hd_preparing; /* model/prepare.h */

typedef struct hd_sound_front_type {
    bool grid; /* it reads frames as grids (hd_frames_host.grid) */
    /* Refuses options that make none. */
    hd_status (*check)(const hd_sound_encoder_opt *o, hd_err *err);
    void (*make)(hd_sound_encoder *e, hd_params *p); /* a failure stays in p->err */
    hd_rows (*rows)(hd_run *r, const hd_sound_encoder *e, const hd_frames *in); /* before positions */
    size_t (*width)(const hd_sound_encoder_opt *o);
    int (*reduction)(const hd_sound_encoder_opt *o); /* frames of a row */
    double (*flops)(const hd_sound_encoder *e, double frames);
    void (*prepare)(struct hd_preparing *p, const hd_sound_encoder *e);
} hd_sound_front_type;

#define X(name, text) extern const hd_sound_front_type hd_sound_front_##name;
HD_SOUND_FRONT_LIST(X)
#undef X

hd_status hd_sound_encoder_make(hd_sound_encoder *out, hd_params *p, const hd_sound_encoder_opt *o,
                                hd_err *err);
/* e stays where it is as long as the front is used. */
hd_front hd_sound_encoder_front(const hd_sound_encoder *e);

size_t hd_sound_encoder_width(const hd_sound_encoder_opt *o); /* columns of its rows */
bool hd_sound_encoder_grid(const hd_sound_encoder_opt *o);    /* hd_frames_host.grid */
/* Most frames of an item. */
size_t hd_sound_encoder_frames(const hd_sound_encoder_opt *o);
int hd_sound_encoder_reduction(const hd_sound_encoder_opt *o);
double hd_sound_encoder_flops(const hd_sound_encoder *e, double frames);
void hd_sound_encoder_prepare(struct hd_preparing *p, const hd_sound_encoder *e);

void hd_sound_encoder_describe(const hd_sound_encoder_opt *o, hd_details *to);
/* Its keys in config.json: "model" is its kind. */
void hd_sound_encoder_write(hd_text *to, const hd_sound_encoder_opt *o);
void hd_sound_encoder_read(hd_model_config *c, hd_sound_encoder_opt *o);

#endif

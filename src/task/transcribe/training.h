/* Training a speech recognizer: its options and its data. */
#ifndef HD_TASK_TRANSCRIBE_TRAINING_H
#define HD_TASK_TRANSCRIBE_TRAINING_H

#include "data/sound/spec_augment.h"
#include "run/options.h"
#include "run/recipe.h"
#include "task/transcribe/speech.h"
#include "task/transcribe/transcribe.h"
#include "task/seq2seq/seq2seq.h"

/* HD_EARG where options do not go together. */
hd_status hd_transcribe_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary and the rate of sounds, and what it is fed in training. */
hd_status hd_transcribe_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);
/* How a model that is new reads these sounds. */
hd_status hd_transcribe_choose_features(hd_features_opt *to, const hd_sound_set *set,
                                        const hd_train_options *o, hd_err *err);
hd_spec_augment hd_transcribe_augment(const hd_train_options *o);

extern const hd_recipe hd_recipe_transcribe;

/* Reads the sounds to learn from and those that are held back, which may be none. */
hd_status hd_transcribe_read(hd_speech *train, hd_speech *valid, const hd_train_options *o,
                             hd_speech_form form, hd_err *err);

#endif

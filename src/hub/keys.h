/* Settings of a published config.json that are fields of options here: one table reads them and writes them.
   What it lacks has the value that transformers takes then. */
#ifndef HD_HUB_KEYS_H
#define HD_HUB_KEYS_H

#include "hub/family.h"
#include "model/keys.h"

enum { HD_MOST_SIZE = 1 << 20, HD_MOST_LAYERS = 1000, HD_MOST_HEADS = 1024, HD_MOST_POSITIONS = 1 << 16 };

#define HD_KEY_DROPOUT 0.999 /* most of it */

/* HD_KEY(WHOLE, "vocab_size", hd_bert_opt, vocab, HD_MOST_SIZE, 30522): numbers are from 1 on, reals from 0
   on; activations have the names of transformers. */
#define HD_KEY(is, key, options, field, largest, lacking)                                                    \
    {                                                                                                        \
        HD_KEY_OF(options, key, is, field),                                                                  \
            .least = HD_KEY_##is != HD_KEY_REAL, .most = largest, .when = HD_KEY_ELSE, .otherwise = lacking, \
            .act = hd_family_activation_called, .act_name = hd_family_activation_name                        \
    }

#endif

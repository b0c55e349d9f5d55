/* preprocessor_config.json of WhisperFeatureExtractor. The filters that older files hold are computed here.
 */
#include "hub/sound/preprocessor.h"

#include <math.h>

#include "hub/keys.h"

static const char FILE_NAME[] = "preprocessor_config.json";
static const double HIGHEST = 8000; /* Hz, at any rate */

static const hd_key keys[] = {
    HD_KEY(WHOLE, "feature_size", hd_features_opt, mels, HD_FEATURES_MOST_MELS, 80),
    HD_KEY(WHOLE, "n_fft", hd_features_opt, window, HD_FEATURES_MOST_WINDOW, 400),
    HD_KEY(WHOLE, "hop_length", hd_features_opt, hop, HD_FEATURES_MOST_HOP, 160),
    HD_KEY(WHOLE, "sampling_rate", hd_features_opt, rate, HD_SOUND_MOST_RATE, 16000),
    HD_KEY(REAL, "chunk_length", hd_features_opt, chunk, 3600, 30),
    {0}};

static void read_file(hd_model_config *file, hd_features_opt *o)
{
    hd_err why = {0};
    hd_keys_read(file, keys, 0, o);
    hd_family_insist(file, "do_normalize", false);
    if (hd_model_config_has(file, "dither") && hd_model_config_real(file, "dither", 1) > 0)
        hd_model_config_refuse(file, "\"dither\" is not 0: heed does not support this");
    if (!file->status && hd_features_check(o, &why)) hd_model_config_refuse(file, "%s", why.text);
}

void hd_family_features_read(hd_model_config *c, const char *folder, size_t bins, size_t frames,
                             hd_features_opt *out)
{
    hd_model_config file;
    hd_features_opt o = hd_features_usual(HD_FEATURES_WHISPER, 16000);
    if (c->status) return;
    o.high = HIGHEST;
    hd_model_config_read_file(&file, folder, FILE_NAME, c->err);
    if (file.object && !json_is_object(file.object)) hd_model_config_refuse(&file, "holds no object of keys");
    if (!file.status && file.object)
        read_file(&file, &o);
    else
        o.mels = (int)bins;
    size_t samples = (size_t)llround(o.chunk * o.rate);
    if (!file.status && ((size_t)o.mels != bins || samples / (size_t)o.hop != frames))
        hd_model_config_refuse(
            &file,
            "%g s are %zu frames of %d numbers, where the model reads %zu of %zu: \"chunk_length\" and "
            "\"feature_size\" have to be those of \"max_source_positions\" and \"num_mel_bins\"",
            o.chunk, samples / (size_t)o.hop, o.mels, frames, bins);
    hd_model_config_leave(c, &file);
    hd_model_config_release(&file);
    if (!c->status) *out = o;
}

hd_status hd_family_features_save(const hd_features_opt *o, const char *folder, hd_err *err)
{
    const json_int_t samples = llround(o->chunk * o->rate);
    hd_json_begin();
    json_t *root = json_object();
    hd_keys_set(root, keys, o);
    if (o->chunk == floor(o->chunk)) hd_json_set(root, "chunk_length", json_integer((json_int_t)o->chunk));
    hd_json_join(root, json_pack("{s:s,s:s,s:I,s:I,s:s,s:f,s:b}", "feature_extractor_type",
                                 "WhisperFeatureExtractor", "processor_class", "WhisperProcessor",
                                 "n_samples", samples, "nb_max_frames", samples / o->hop, "padding_side",
                                 "right", "padding_value", 0.0, "return_attention_mask", 0));
    return hd_json_save(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), folder, FILE_NAME, err);
}

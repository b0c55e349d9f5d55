/* Makes what bench/whisper measures: bench_whisper FOLDER writes a folder of transformers with a Whisper of
   the size of openai/whisper-base and random weights, and in it sound.wav, 30 s of noise at 16 kHz. Its
   tokens never end before the limit of 100, so that everybody does the same work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/text.h"
#include "model/encdec/encdec.h"
#include "text/published/bpe/byte_level.h"
#include "train/published.h"

enum {
    PIECES = 50257, /* then what is special, then times */
    LANGUAGES = 99,
    TIMES = 1501,
    VOCAB = 51865,
    RATE = 16000,
    SECONDS = 30,
    LIMIT = 104 /* tokens, those of the prompt among them */
};

static int stop(const char *text, int status)
{
    fprintf(stderr, "bench_whisper: %s\n", text);
    return status;
}

static const char config[] =
    "{\"architectures\": [\"WhisperForConditionalGeneration\"], \"model_type\": \"whisper\", \"d_model\": "
    "512,\n"
    " \"encoder_layers\": 6, \"decoder_layers\": 6, \"encoder_attention_heads\": 8,\n"
    " \"decoder_attention_heads\": 8, \"encoder_ffn_dim\": 2048, \"decoder_ffn_dim\": 2048,\n"
    " \"num_mel_bins\": 80, \"max_source_positions\": 1500, \"max_target_positions\": 448,\n"
    " \"vocab_size\": 51865, \"activation_function\": \"gelu\", \"dropout\": 0.0, \"is_encoder_decoder\": "
    "true,\n"
    " \"decoder_start_token_id\": 50258, \"eos_token_id\": 50257, \"bos_token_id\": 50257,\n"
    " \"pad_token_id\": 50257, \"suppress_tokens\": null, \"begin_suppress_tokens\": null,\n"
    " \"tie_word_embeddings\": true, \"scale_embedding\": false, \"dtype\": \"float32\"}\n";

static const char features[] =
    "{\"feature_extractor_type\": \"WhisperFeatureExtractor\", \"feature_size\": 80, \"chunk_length\": 30,\n"
    " \"hop_length\": 160, \"n_fft\": 400, \"n_samples\": 480000, \"nb_max_frames\": 3000,\n"
    " \"padding_value\": 0.0, \"sampling_rate\": 16000, \"dither\": 0.0, \"return_attention_mask\": false}\n";

static const char *const special[] = {"translate",   "transcribe", "startoflm",
                                      "startofprev", "nospeech",   "notimestamps"};

static hd_status save(const char *folder, const char *name, hd_text *text, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_text_status(text, err);
    if (!s) s = hd_path(path, folder, name, err);
    if (!s) s = hd_save_bytes(path, text->data, text->size, err);
    hd_text_release(text);
    return s;
}

static hd_status save_constant(const char *folder, const char *name, const char *text, hd_err *err)
{
    hd_text copy = {0};
    hd_text_put(&copy, text);
    return save(folder, name, &copy, err);
}

/* Bytes, words that have no merges, and the piece of no bytes. */
static void put_pieces(hd_text *to)
{
    for (int id = 0; id < PIECES; id++) {
        int32_t point = id < 256 ? hd_byte_character((uint8_t)id) : 0;
        hd_text_put(to, id ? ", \"" : "{\"");
        if (id < 256 && point < 0x80)
            hd_text_print(to, point == '"' || point == '\\' ? "\\%c" : "%c", (int)point);
        else if (id < 256)
            hd_text_print(to, "\\u%04x", (unsigned)point);
        else if (id + 1 < PIECES)
            hd_text_print(to, "\\u0120w%d", id);
        hd_text_print(to, "\": %d", id);
    }
    hd_text_put(to, "}\n");
}

static const char *language(int i, char to[8])
{
    if (!i) return "en";
    snprintf(to, 8, "%c%c%c", 'q', 'a' + i / 26, 'a' + i % 26); /* codes that nobody has */
    return to;
}

static void put_special(hd_text *to)
{
    char code[8];
    int id = PIECES;
    hd_text_print(to, "{\"<|endoftext|>\": %d, \"<|startoftranscript|>\": %d", id, id + 1);
    id += 2;
    for (int i = 0; i < LANGUAGES; i++) hd_text_print(to, ", \"<|%s|>\": %d", language(i, code), id++);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        hd_text_print(to, ", \"<|%s|>\": %d", special[i], id++);
    for (int i = 0; i < TIMES; i++) hd_text_print(to, ", \"<|%.2f|>\": %d", i * 0.02, id++);
    hd_text_put(to, "}\n");
}

static void put_rules(hd_text *to)
{
    char code[8];
    const int first = PIECES + 2, task = first + LANGUAGES;
    hd_text_print(to,
                  "{\"decoder_start_token_id\": %d, \"eos_token_id\": %d, \"bos_token_id\": %d,\n"
                  " \"pad_token_id\": %d, \"max_length\": %d, \"is_multilingual\": true,\n"
                  " \"no_timestamps_token_id\": %d, \"prev_sot_token_id\": %d,\n"
                  " \"max_initial_timestamp_index\": 50, \"begin_suppress_tokens\": [220, %d],\n"
                  " \"task_to_id\": {\"translate\": %d, \"transcribe\": %d},\n"
                  " \"alignment_heads\": [[3, 1], [4, 2], [4, 3], [4, 7], [5, 1], [5, 2], [5, 4], [5, 6]],\n"
                  " \"suppress_tokens\": [",
                  PIECES + 1, PIECES, PIECES, PIECES, LIMIT, task + 5, task + 3, PIECES, task, task + 1);
    for (int id = PIECES; id < task + 6; id++) hd_text_print(to, id > PIECES ? ", %d" : "%d", id);
    hd_text_put(to, "],\n \"lang_to_id\": {");
    for (int i = 0; i < LANGUAGES; i++)
        hd_text_print(to, "%s\"<|%s|>\": %d", i ? ", " : "", language(i, code), first + i);
    hd_text_put(to, "}}\n");
}

static void put_number(hd_text *to, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) hd_text_add(to, (const char[]){(char)(x >> 8 * i)}, 1);
}

/* Noise that swells, and a tone that glides. */
static void put_sound(hd_text *to)
{
    const uint32_t samples = RATE * SECONDS;
    uint32_t draw = 1;
    hd_text_put(to, "RIFF"), put_number(to, 36 + 2 * samples, 4), hd_text_put(to, "WAVEfmt ");
    put_number(to, 16, 4), put_number(to, 1, 2), put_number(to, 1, 2), put_number(to, RATE, 4);
    put_number(to, 2 * RATE, 4), put_number(to, 2, 2), put_number(to, 16, 2);
    hd_text_put(to, "data"), put_number(to, 2 * samples, 4);
    for (uint32_t i = 0; i < samples; i++) {
        double t = (double)i / RATE, noise = (double)((draw = draw * 1664525 + 1013904223) >> 16) / 32768 - 1;
        double x = 4000 * sin(6.28 * (200 + 30 * t) * t) + 3000 * noise * (1 + sin(5 * t));
        put_number(to, (uint32_t)(int32_t)lrint(x), 2);
    }
}

static hd_status save_weights(const char *folder, hd_err *err)
{
    hd_backend *backend = NULL;
    hd_encdec *m = NULL;
    hd_encdec_opt o = hd_encdec_opt_whisper();
    o.encoder_layers = o.decoder_layers = 6;
    o.stack.width = 512, o.stack.inner = 2048, o.stack.heads = 8, o.stack.act = HD_gelu;
    o.sound.features = hd_features_usual(HD_FEATURES_WHISPER, RATE);
    o.sound.features.mels = 80, o.sound.positions = 1500, o.positions = 448, o.target_vocab = VOCAB;
    hd_status s = hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = 2}, err);
    if (!s) s = hd_encdec_new(&m, backend, &o, false, err);
    if (!s) s = hd_params_draw(&m->params, 1, err);
    if (!s) s = hd_published_save(&m->params, folder, err);
    hd_encdec_free(m);
    hd_backend_free(backend);
    return s;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*put)(hd_text *to);
    } made[] = {{"vocab.json", put_pieces},
                {"added_tokens.json", put_special},
                {"generation_config.json", put_rules},
                {"sound.wav", put_sound}};
    hd_err err = {0};
    if (argc != 2) return stop("usage: bench_whisper FOLDER", 2);
    mkdir(argv[1], 0777);
    hd_status s = save_constant(argv[1], "config.json", config, &err);
    if (!s) s = save_constant(argv[1], "preprocessor_config.json", features, &err);
    if (!s) s = save_constant(argv[1], "merges.txt", "#version: 0.2\n", &err);
    for (size_t i = 0; !s && i < sizeof made / sizeof *made; i++) {
        hd_text text = {0};
        made[i].put(&text);
        s = save(argv[1], made[i].name, &text, &err);
    }
    if (!s) s = save_weights(argv[1], &err);
    return s ? stop(err.text, 1) : 0;
}

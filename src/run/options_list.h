/* The options of `heed train`, those of all tasks. A row is a field of hd_train_options (run/options.h) and
   a row of hd_train_table (run/options.c, which has the columns):
   TYPE("name", letter, argument, default, field, bounds or choices, help, columns...)
   A flag has no argument and no default; files and lists have no default. */
/* clang-format off */

    CHOICE("task", 0, "TASK", "translate", task, hd_train_tasks, "what to learn" TASKS, RUN)
    CHOICE("preset", 'p', "NAME", "tiny", preset, hd_preset_names,
        "sizes and training recipe; other options override parts of it. translate: tiny, small, base or big "
        "(Transformers), sutskever, rnnsearch, luong or tutorial (recurrent); lm: gpt2, gpt2-medium, "
        "gpt2-large, gpt2-xl, llama-nano, llama-124m, moe-nano, moe-124m or deepseek-nano; mlm: bert-tiny, bert-mini or bert-base; caption: show-attend-tell, "
        "caption-luong or caption-transformer; detect: detr-small; transcribe: las, las-small, speech-tiny or speech-ctc; write: handwriting or "
        "handwriting-small; classify: vit-tiny, vit-lite (the default for pictures) or vit-b16",
        FOR(TRANSLATE | LM | MLM | CLASSIFY | CAPTION | DETECT | TRANSCRIBE | WRITE | READ),
        NEEDS(HD_HAS_PRESET))
    PATH("out", 'o', "FOLDER", out, "model folder to write; created if missing", CALL)
    PATH("from", 0, "FOLDER", from,
        "start from the model in this folder, trained here or imported: its tokenizer, sizes and weights. "
        "Tasks with labels fine-tune a model of mlm, of lm or of one of them with a new output layer",
        FOR(TRANSLATE | LM | MLM | LABELS | CAPTION | DETECT | TRANSCRIBE | REWARD))
    FLAG("resume", 0, resume,
        "continue the run in --out from its last checkpoint, bit for bit; stopping conditions, threads, "
        "device and reports may change", CALL)
    FLAG("overwrite", 0, overwrite, "delete the run in --out and start a new one", CALL)
    FLAG("dry-run", 'n', dry_run,
        "print the effective options, parameters, batches, memory against that of the device and an "
        "estimate of the time, and train nothing", CALL)
    PATH(HD_CONFIG_NAME, 'c', "FILE", config, HD_CONFIG_HELP, CALL)

    FILES("train", 't', "FILE", train, HD_OPTION_MOST,
        "training data, plain or compressed (gzip, xz, zstd), - for stdin; a folder stands for its files. "
        "translate: files of parallel sentences, source and target in turn, or files with a tab between "
        "them (.tsv if there are several); lm, mlm: texts; --model music: MIDI files, or chorales in JSON; labels of texts: a table with the columns label "
        "(of multilabel: labels with commas between, or nothing), text and, for pairs of texts, text2; tag: "
        "lines of a token, a tab and its label; classify pictures: an IDX file of pictures and one of "
        "labels, or a list with lines FILE<tab>LABEL; caption: lines of a picture's name, maybe # and a number, a "
        "tab and a caption; transcribe: lines of a sound's file, a tab and what is said, or a folder with "
        "a.wav, a.txt and so on; write: a file of strokes, or the folder that heed strokes wrote", DATA,
        FOR((unsigned)~REWARD))
    PATH("train-names", 0, "FILE", train_names,
        "learn only from the pictures named in this file, one name a line", DATA, FOR(CAPTION))
    PATH("valid-names", 0, "FILE", valid_names,
        "validate with the pictures named in this file; without --valid, of the file of --train", DATA,
        FOR(CAPTION))
    FILES("train-dir", 0, "FOLDER", train_dir, 1,
        "training data as a folder with one file per class, one text per line, or with one subfolder of "
        "pictures per class", DATA, FOR(CLASSIFY))
    FILES("valid", 0, "FILE", valid, HD_OPTION_MOST, "validation data, in the form of --train", DATA)
    PATH("images", 0, "FOLDER", images,
        "folder of the pictures that the training data names; without it names are relative to the file "
        "that has them", DATA, FOR(PICTURES), NEEDS(HD_HAS_PICTURES))
    PATH("shards", 0, "FOLDER", shards,
        "tokenize the training data once into this folder and read it from there in pieces; runs with the "
        "same data and tokenizer reuse it. Data larger than a quarter of the free memory goes to "
        "train/shards in --out without being asked to", DATA, FOR(TRANSLATE | LM | MLM))
    REAL("valid-fraction", 0, "X", "0", valid_fraction, 0, 0.5,
        "without --valid: fraction of the training data to hold out for validation; of a text its end", DATA)
    INT("max-length", 0, "N", "200", max_length, 1, 1000000, "longest sentence or text, in tokens", DATA,
        FOR(TRANSLATE | LABELS | CAPTION | TRANSCRIBE), NEEDS(HD_HAS_TEXTS))
    CHOICE("on-long", 0, "WHAT", "skip", on_long, long_lines,
        "what to do with longer ones: skip, cut or error", DATA, FOR(TRANSLATE))
    CHOICE("on-invalid", 0, "WHAT", "error", on_invalid, bad_lines,
        "what to do with lines that are not UTF-8 and pictures and sounds that cannot be read: error or skip", DATA,
        FOR(TRANSLATE | PICTURES | TRANSCRIBE))
    CHOICE("on-empty", 0, "WHAT", "skip", on_empty, empty_lines,
        "what to do with lines without words: skip or error", DATA, FOR(TRANSLATE))

#include "run/adapter_options_list.h"
#include "run/augment_options_list.h"
#include "run/reward_options_list.h"

    CHOICE("tokenizer", 0, "KIND", "sentencepiece", tokenizer, tokenizers,
        "sentencepiece (subwords), words or characters; with --tokenizer-model also bpe, wordpiece, marian "
        "or t5", VOCABULARY, FOR(TRANSLATE), TOKENIZER)
    CHOICE("unit", 0, "UNIT", "char", unit, units, "tokens: word, char or subword", VOCABULARY,
        FOR(LM | MLM | LABELS | CAPTION | TRANSCRIBE), TOKENIZER, NEEDS(HD_HAS_TEXTS))
    INT("min-count", 0, "N", "0", min_count, 0, 1000000,
        "words (--unit word) or characters seen fewer times are unknown; 0: 2 for words", VOCABULARY,
        FOR(LM | LABELS | CAPTION | TRANSCRIBE), TOKENIZER, NEEDS(HD_HAS_TEXTS))
    FLAG("cased", 0, cased, "keep capital letters; captions and transcripts are lower-cased otherwise", VOCABULARY,
        FOR(CAPTION | TRANSCRIBE), TOKENIZER)
    INT("vocab-size", 0, "N", "8000", vocab_size, 5, 1000000,
        "largest vocabulary; smaller where the text supports fewer tokens", VOCABULARY, FOR(TOKENS), TOKENIZER,
        NEEDS(HD_HAS_TEXTS))
    CHOICE("subwords", 0, "KIND", "bpe", subwords, subwords, "how subwords are learned: bpe or unigram",
        VOCABULARY, TOKENIZER, NEEDS(HD_HAS_SUBWORDS))
    REAL("character-coverage", 0, "X", "0.9995", character_coverage, 0.9, 1,
        "fraction of the characters in the text that get a piece of their own; the others are spelled in "
        "bytes", VOCABULARY, TOKENIZER, NEEDS(HD_HAS_SUBWORDS))
    FLAG("separate-vocab", 0, separate_vocab, "one vocabulary per language", VOCABULARY, FOR(TRANSLATE),
        TOKENIZER, NEEDS(HD_HAS_UNTIED))
    FILES("tokenizer-model", 0, "FILE", tokenizer_model, 2,
        "use existing tokenizer files: one for both languages, or two; for one text also vocab.json and "
        "merges.txt, tokenizer.json, or a folder with them", VOCABULARY, FOR(TOKENS), TOKENIZER,
        NEEDS(HD_HAS_TEXTS))

    CHOICE("model", 0, "NAME", "gpt", model, hd_train_model_names,
        "lm: ngram, maxent, ffnn, rnn, gru, lstm, gpt, llama, moe, deepseek or music (a gpt of chorales or MIDI files); tasks with labels: rnn, gru, lstm or transformer; "
        "classify pictures: vit or resnet; write: handwriting (LSTM layers) or gpt (points in bins)", MODEL, FOR(LM | LABELS | WRITE), SHAPE)
    INT("image-size", 0, "N", "0", image_size, 0, 4096,
        "side of the square that pictures are scaled to, in pixels; 0: that of the pictures, up to 64, or "
        "that of the model", PICTURE_MODEL, .from = HD_FROM_DEFAULT)
    INT("channels", 0, "N", "0", channels, 0, 3,
        "1: gray, 3: color; 0: gray where all pictures are, otherwise color", PICTURE_MODEL, SHAPE)
    INT("patch-size", 0, "N", "16", patch_size, 1, 1024, "side of a patch, in pixels", VIT)
    INT("conv-stem", 0, "N", "0", conv_stem, 0, 8,
        "N layers of a 3 x 3 convolution and a batch norm in place of patches, pooled by 2 behind the first "
        "and the last; 0: patches", VIT)
    TEXT("encoder", 0, "STAGES", NULL, encoder,
        "layers of the encoder (transformer if not given), as in bi-gru:2+transformer: kinds of layers" STAGES
        "; bi- before a kind reads in both directions, :N after it makes N layers", MODEL,
        FOR(TRANSLATE | LABELS | TRANSCRIBE), SHAPE, NEEDS(HD_HAS_TEXTS))
    TEXT("decoder", 0, "STAGES", NULL, decoder,
        "the same of the decoder: transformer, or an rnn, gru or lstm, followed by transformer if you like",
        MODEL, FOR(TRANSLATE | CAPTION | TRANSCRIBE), SHAPE)
    TEXT("language", 0, "NAME", NULL, language,
        "--from a Whisper that knows several: what is spoken in the sounds, by code or English name (de, german)", MODEL,
        FOR(TRANSCRIBE), NEEDS(HD_HAS_FROM))
    CHOICE("sound-features", 0, "KIND", "log_mel", features, features,
        "how sound is read, every 10 ms: log_mel (natural logarithms of mels), kaldi (fbank) or whisper", MODEL,
        FOR(TRANSCRIBE), SHAPE)
    INT("mels", 0, "N", "40", mels, 1, 512, "mel bins of a frame", MODEL, FOR(TRANSCRIBE), SHAPE)
    CHOICE("normalize", 0, "WHAT", "sound", normalize, normalizings,
        "what is brought to mean 0 and deviation 1 over a sound; sound: all bins together; bins: each by "
        "itself, which also evens out microphones, but what never changes in a short sound is lost; none: "
        "nothing", MODEL, FOR(TRANSCRIBE), SHAPE)
    INT("sample-rate", 0, "N", "0", sample_rate, 0, 768000,
        "samples a second that sounds are converted to; 0: the least of the training data, up to 16000", MODEL,
        FOR(TRANSCRIBE), .from = HD_FROM_DEFAULT)
    INT("frame-stack", 0, "N", "1", frame_stack, 1, 64, "frames that are read side by side, as one row", MODEL,
        FOR(TRANSCRIBE), SHAPE)
    INT("max-frames", 0, "N", "3000", max_frames, 1, 1000000,
        "longest sound the model can ever take, in frames of 10 ms", MODEL, FOR(TRANSCRIBE), SHAPE)
    REAL("ctc-weight", 0, "X", "0", ctc_weight, 0, 1,
        "share of CTC, on the encoder's rows, in the loss and in search; 0: none; 1, with --decoder none: CTC "
        "alone", MODEL, FOR(TRANSCRIBE), SHAPE)
    CHOICE("image-encoder", 0, "KIND", "resnet", image_encoder, hd_image_encoder_names,
        "what turns a picture into vectors: of a detector its backbone" IMAGE_ENCODERS, MODEL,
        FOR(CAPTION | DETECT), SHAPE)
    PATH("encoder-from", 0, "FOLDER", encoder_from,
        "begin with the encoder of the model in this folder, a classifier of pictures or another captioner: its "
        "sizes, how it reads pictures, and its weights", MODEL, FOR(CAPTION))
    TEXT("resnet", 0, "STAGES", "64x2,128x2,256x2,512x2", resnet,
        "of a resnet: columns and blocks of its stages, each at half the size of the one before, "
        "as in 64x2,128x2; /1 behind one: at its whole size", RESNET)
    CHOICE("resnet-stem", 0, "KIND", "auto", resnet_stem, hd_train_stems,
        "what comes before them: large (7x7 and pooling: a quarter of the size), small (3x3: the whole size), "
        "or auto: small where pictures are below 96 pixels", RESNET)
    CHOICE("resnet-norm", 0, "KIND", "batch", resnet_norm, hd_map_norm_names,
        "its norms: batch, frozen (those of --from) or group", RESNET)
    FLAG("resnet-bottleneck", 0, resnet_bottleneck,
        "its blocks are 1x1, 3x3 at a quarter of the columns, 1x1; else two of 3x3", RESNET)
    INT("encoder-layers", 0, "N", "4", encoder_layers, 1, 1000,
        "layers of the encoder, where --encoder does not say", MODEL, FOR(TRANSLATE | CAPTION | DETECT | TRANSCRIBE), SHAPE)
    INT("decoder-layers", 0, "N", "4", decoder_layers, 1, 1000,
        "layers of the decoder, where --decoder does not say", MODEL, FOR(TRANSLATE | CAPTION | DETECT | TRANSCRIBE), SHAPE)
    INT("queries", 0, "N", "60", queries, 1, 10000,
        "queries, each of which finds one object or none: more than a picture has objects", MODEL, FOR(DETECT),
        SHAPE)
    CHOICE("query-kind", 0, "KIND", "anchors", query_kind, query_kinds,
        "what a query is: anchors (boxes that each layer of the decoder moves) or learned (vectors, as in "
        "published models)", MODEL, FOR(DETECT), SHAPE)
    REAL("query-reach", 0, "X", "0", query_reach, 0, 1000,
        "what an anchor sees of the picture: its box and X times its size around it, half on each side; 0: all of "
        "it", MODEL, FOR(DETECT), SHAPE, NEEDS(HD_HAS_ANCHORS))
    INT("mixtures", 0, "N", "20", mixtures, 1, HD_MIXTURE_MOST, "Gaussians whose mixture is the next point", MODEL, FOR(WRITE), SHAPE, NEEDS(HD_HAS_PEN_CELLS))
    INT("window-gaussians", 0, "N", "10", window_gaussians, 0, HD_WINDOW_MOST,
        "Gaussians of the window that moves along the text; 0: no text is read", MODEL, FOR(WRITE), SHAPE, NEEDS(HD_HAS_PEN_CELLS))
    INT("layers", 0, "N", "4", layers, 1, 1000, "layers; of a translator those of encoder and decoder each",
        MODEL, SIZE, NEEDS(HD_HAS_LAYERS))
    INT("width", 0, "N", "128", width, 1, 65536, "hidden size (d_model)", MODEL, SIZE, NEEDS(HD_HAS_NETWORK))
    INT("ffn-size", 0, "N", "256", ffn_size, 1, 1048576,
        "hidden size of the feed-forward layers", MODEL, SHAPE,
        NEEDS(HD_HAS_BLOCKS | HD_HAS_FFNN))
    INT("heads", 0, "N", "4", heads, 1, 1024, "attention heads", MODEL, SIZE, NEEDS(HD_HAS_BLOCKS))
    CHOICE("norm", 0, "PLACE", "pre", norm, norms,
        "layer norm before (pre) or after (post, as in the paper) each sublayer", MODEL,
        FOR(TRANSLATE | LM | LABELS | CAPTION | TRANSCRIBE), SHAPE, NEEDS(HD_HAS_BLOCKS))
    CHOICE("activation", 0, "NAME", "relu", activation, hd_train_activations,
        "of feed-forward layers: relu, gelu, gelu_tanh or silu; of rnn cells: tanh or sigmoid", MODEL, SHAPE,
        NEEDS(HD_HAS_ACTIVATION))
#include "run/block_options_list.h"
#include "run/expert_options_list.h"
    CHOICE("position-kind", 0, "KIND", "sinusoidal", position_kind, position_kinds,
        "position embeddings: sinusoidal, learned, or none: the model cannot tell the order of words; of a gpt "
        "learned, with --relative none; of a llama rotary; of music sinusoidal, with --relative periodic: sines of the place in a bar of 64 "
        "tokens", MODEL, FOR(TRANSLATE | CAPTION | LM | TRANSCRIBE), SHAPE, NEEDS(HD_HAS_POSITIONS))
    INT("relative", 0, "N", "0", relative, 0, 1048576,
        "relative attention (Music Transformer): each head learns a vector for each of N distances, and farther "
        "tokens share the last; 0: none", MODEL, FOR(LM | WRITE), SHAPE, NEEDS(HD_HAS_BLOCKS))
    INT("local-block", 0, "N", "0", local_block, 0, 1048576,
        "attention by blocks of N tokens: a token sees its own block and the one before; 0: all before it",
        MODEL, FOR(LM), SHAPE, NEEDS(HD_HAS_BLOCKS))
    INT("max-positions", 0, "N", "512", max_positions, 2, 1000000,
        "longest sentence the model can ever take, in tokens", MODEL, FOR(TRANSLATE | CAPTION | TRANSCRIBE), SHAPE)
    FLAG("unscaled-attention", 0, unscaled_attention,
        "do not divide attention scores by the square root of the head size", MODEL, FOR(TRANSLATE), SHAPE,
        NEEDS(HD_HAS_BLOCKS))
    FLAG("untied", 0, untied, "separate embedding tables for source, target and output", MODEL,
        FOR(TRANSLATE | LM | CAPTION | TRANSCRIBE), SHAPE, NEEDS(HD_HAS_NETWORK))
    INT("context", 0, "N", NULL, context, 1, 1000000, "tokens of a window; the model never sees more of them",
        MODEL, FOR(LM | MLM), .from = HD_FROM_DEFAULT, NEEDS(HD_HAS_WINDOWS))
    FLAG("line-windows", 0, line_windows,
        "windows begin where lines begin, not anywhere: for lists of short texts, so that each has the positions it "
        "has when it is prompted for", MODEL, FOR(LM), NEEDS(HD_HAS_BLOCKS))
    CHOICE("documents", 0, "HOW", "none", documents, documents,
        "what ends a document, which then sees nothing of others: line, blank (an empty line), mark (a line <|endoftext|>), "
        "or none: the text is one stream. Updates are packed with documents up to --batch-size times --context tokens", MODEL,
        FOR(LM), NEEDS(HD_HAS_BLOCKS))
    INT("music-span", 0, "N", "4096", music_span, 1, 1000000,
        "most tokens that the model can be asked to see at once, though it learns from windows of --context",
        MODEL, FOR(LM), SHAPE, NEEDS(HD_HAS_MUSIC))
    INT("order", 0, "N", "6", order, 1, 64,
        "n-gram order: tokens the model looks at, the predicted one included", MODEL, FOR(LM), SHAPE,
        NEEDS(HD_HAS_NGRAM | HD_HAS_MAXENT | HD_HAS_FFNN))
    CHOICE("smoothing", 0, "NAME", "kneser-ney", smoothing, hd_smoothing_names,
        "add-k, kneser-ney or kneser-ney-3", MODEL, FOR(LM), NEEDS(HD_HAS_NGRAM))
    REAL("add-k", 0, "X", "0.1", add_k, 0, 1e9, "the k of --smoothing add-k", MODEL, FOR(LM),
        NEEDS(HD_HAS_ADD_K))
    INT("hash-buckets", 0, "N", "0", hash_buckets, 0, 268435456,
        "hash buckets for contexts; 0: enough for 32 million weights", MODEL, FOR(LM), SHAPE,
        NEEDS(HD_HAS_MAXENT))
    FLAG("whole-word-masking", 0, whole_word_masking, "mask all pieces of a word or none", MODEL, FOR(MLM))
    CHOICE("pool", 0, "HOW", "auto", pool, pools,
        "which hidden states of a text the output layer reads: last, mean, max or first; auto: last of a "
        "recurrent encoder or a language model, first of a BERT, otherwise mean", MODEL, FOR(TEXTS))
    FLAG("one-hot", 0, one_hot, "one-hot vectors instead of learned embeddings: for characters", MODEL,
        FOR(LABELS), SHAPE, NEEDS(HD_HAS_CELLS_FIRST))
    FLAG("scratch", 0, scratch,
        "take the sizes and the tokenizer of --from, but initialize the weights at random: a baseline", MODEL,
        FOR(LABELS), NEEDS(HD_HAS_FROM))
    REAL("lm-loss", 0, "X", "0", lm_loss, 0, 1000,
        "with --from a language model: weight of its own loss on the texts, added to that of the labels; 0: "
        "none", MODEL, FOR(TEXTS), NEEDS(HD_HAS_FROM))

    CHOICE("decoder-context", 0, "WHAT", "attention", decoder_context, hd_context_names,
        "what the decoder knows of the source" CONTEXTS, CELLS)
    CHOICE("attention-score", 0, "NAME", "additive", attention_score, hd_scoring_names,
        "attention score of query q and key k" SCORINGS, ATTENDING)
    CHOICE("attention-span", 0, "WHERE", "global", attention_span, hd_locality_names,
        "which keys are seen" LOCALITIES, ATTENDING)
    INT("attention-window", 0, "N", "10", attention_window, 1, 1000000,
        "keys on either side of the center of local attention", RECURRENT, SHAPE,
        NEEDS(HD_HAS_LOCAL_ATTENTION))
    INT("attention-heads", 0, "N", "1", attention_heads, 1, 1024,
        "heads of a recurrent decoder's attention; more than 1 imply --attention-projections", ATTENDING)
    FLAG("attention-projections", 0, attention_projections,
        "keys and values are projections of the encoder's states",
        ATTENDING)
    CHOICE("attention-query", 0, "WHICH", "previous", attention_query, hd_query_names,
        "decoder state that is the query" QUERIES, ATTENDING)
    FLAG("attention-gate", 0, attention_gate,
        "multiply each context by a number between 0 and 1 that the query decides (Show, Attend and Tell)",
        ATTENDING)
    REAL("attention-penalty", 0, "X", "0", attention_penalty, 0, 1000,
        "lambda of the doubly stochastic penalty: the weights that a position of the source gets from all "
        "words together should add up to 1; not part of the loss that is reported", RECURRENT,
        NEEDS(HD_HAS_ATTENTION))
    REAL("attention-order", 0, "X", "0", attention_order, 0, 1000,
        "X times a penalty for attention that goes back from one token to the next, in rows of the encoder: "
        "for sources in the order of the target, as speech is; not part of the loss that is reported",
        RECURRENT, NEEDS(HD_HAS_ATTENTION))
    CHOICE("decoder-init", 0, "HOW", "final", decoder_init, hd_beginning_names,
        "initial state of the decoder" BEGINNINGS, CELLS)
    CHOICE("readout", 0, "WHAT", "state", readout, hd_reading_names, "what the output layer reads" READINGS,
        CELLS)
    FLAG("input-feeding", 0, input_feeding,
        "input feeding: what the output layer read is an input of the next step, with its token", ATTENDING)
    FLAG("input-skips", 0, input_skips,
        "every layer of the decoder reads the token, not only the first", CELLS)
    FLAG("no-feedback", 0, no_feedback, "the decoder does not read the previous token", CELLS)
    FLAG("embedding-relu", 0, embedding_relu, "apply relu to the embeddings that the decoder reads", CELLS)
    FLAG("reverse-source", 0, reverse_source, "the encoder reads the source backwards", RECURRENT, SHAPE,
        NEEDS(HD_HAS_ONE_WAY))
    CHOICE("decoder-input", 0, "KIND", "teacher", decoder_input, hd_feeding_names,
        "previous token that the decoder reads in training" FEEDINGS, RECURRENT, NEEDS(HD_HAS_PREVIOUS))
    REAL("sampling-rate", 0, "X", "0.5", sampling_rate, 0, 1, "probability that it is the model's own token",
        RECURRENT, NEEDS(HD_HAS_SCHEDULED))
    LONG("sampling-decay", 0, "N", "0", sampling_decay, 0, 1e15,
        "updates over which --sampling-rate rises from 0, in 32 equal steps; 0: constant", RECURRENT,
        NEEDS(HD_HAS_SCHEDULED))
    REAL("temperature", 0, "X", "1", temperature, 0, 100,
        "of the tokens it samples; below 1: closer to the most likely one", RECURRENT, NEEDS(HD_HAS_SAMPLES))

    INT("batch-tokens", 0, "N", "2500", batch_tokens, 1, 100000000,
        "tokens per update, counting the longer side of each pair", LEARNING, FOR(TRANSLATE))
    INT("batch-frames", 0, "N", "16000", batch_frames, 1, 100000000,
        "frames of sound per update", LEARNING, FOR(TRANSCRIBE))
    INT("batch-size", 0, "N", "12", batch_size, 1, 1000000, "windows (lm, mlm), prompts (reward) or items per update", LEARNING,
        FOR(LM | MLM | LABELS | CAPTION | DETECT | WRITE | READ | REWARD), UPDATES)
    INT("micro-batches", 0, "N", "1", micro_batches, 1, 100000,
        "split each batch into N parts and accumulate their gradients, to save memory", LEARNING, UPDATES)
    REAL("lr", 0, "X", "0.005", lr, 0, 1000, "peak learning rate", LEARNING, UPDATES)
    LONG("warmup", 0, "N", "1000", warmup, 0, 1e15, "updates until the peak learning rate is reached",
        LEARNING, UPDATES)
    FLAG("fit-warmup", 0, fit_warmup,
        "shorten the warm-up to a quarter of the run if it is longer; on unless --warmup is given", LEARNING,
        NEEDS(HD_HAS_DECAY))
    CHOICE("schedule", 0, "NAME", "linear", schedule, schedules,
        "learning rate after it: constant, inverse_sqrt, cosine or linear", LEARNING, UPDATES)
    LONG("decay-steps", 0, "N", "0", decay_steps, 0, 1e15,
        "updates until the learning rate is at its minimum; 0: the length of the run", LEARNING,
        NEEDS(HD_HAS_DECAY))
    REAL("min-lr-ratio", 0, "X", "0", min_lr_ratio, 0, 1, "minimum learning rate, as a fraction of the peak",
        LEARNING, NEEDS(HD_HAS_DECAY))
    CHOICE("optimizer", 0, "NAME", "adamw", optimizer, optimizers, "sgd, adam, adamw or muon: adamw for all but the matrices of blocks", LEARNING, UPDATES)
    REAL("muon-lr", 0, "X", "0.02", muon_lr, 0, 1000, "peak learning rate of the matrices of blocks", LEARNING,
        NEEDS(HD_HAS_MUON))
    REAL("muon-momentum", 0, "X", "0.95", muon_momentum, 0, BELOW_1, "of Muon, below 1", LEARNING,
        NEEDS(HD_HAS_MUON))
    REAL("beta1", 0, "X", "0.9", beta1, 0, BELOW_1, "of Adam, below 1", LEARNING, NEEDS(HD_HAS_ADAM))
    REAL("beta2", 0, "X", "0.98", beta2, 0, BELOW_1, "of Adam, below 1", LEARNING, NEEDS(HD_HAS_ADAM))
    REAL("adam-eps", 0, "X", "1e-9", adam_eps, 1e-30, 1, "of Adam, above 0", LEARNING, NEEDS(HD_HAS_ADAM))
    REAL("momentum", 0, "X", "0", momentum, 0, BELOW_1, "of SGD, below 1", LEARNING, NEEDS(HD_HAS_SGD))
    REAL("weight-decay", 0, "X", "0.2", weight_decay, 0, 10, "decay of the weights", LEARNING, UPDATES)
    REAL("clip", 0, "X", "1", clip, 0, 1e9, "largest norm of the gradient; 0: no clipping", LEARNING, UPDATES)
    REAL("ema", 0, "X", "0", ema, 0, BELOW_1,
        "publish an exponential moving average of the weights with this decay; 0: none", LEARNING, UPDATES)
    REAL("dropout", 0, "X", "0.2", dropout, 0, 0.99, "dropout of embeddings and sublayers", LEARNING,
        .from = HD_FROM_DEFAULT, NEEDS(HD_HAS_NETWORK))
    REAL("attention-dropout", 0, "X", "0", attention_dropout, 0, 0.99, "dropout of attention weights",
        LEARNING, FOR(TRANSLATE | CAPTION | TRANSCRIBE))
    REAL("ffn-dropout", 0, "X", "0", ffn_dropout, 0, 0.99, "dropout inside the feed-forward layers",
        LEARNING, FOR(TRANSLATE | CAPTION | TRANSCRIBE), NEEDS(HD_HAS_BLOCKS))
    REAL("source-dropout", 0, "X", "0", source_dropout, 0, 0.99, "dropout of whole source tokens", LEARNING,
        FOR(TRANSLATE))
    REAL("drop-path", 0, "X", "0", drop_path, 0, 0.99,
        "stochastic depth of a vit: probability that the last layer is skipped; of the others in proportion",
        LEARNING, FOR(PICTURES), NEEDS(HD_HAS_VIT))
    REAL("label-smoothing", 0, "X", "0.1", label_smoothing, 0, 0.99,
        "probability mass of the target spread over the whole vocabulary", LEARNING,
        FOR(TRANSLATE | LM | MLM | LABELS | CAPTION | TRANSCRIBE), UPDATES)
    TEXTS("freeze", 0, "PATTERN", freeze,
        "do not train parameters of such names, as in 'model.encoder.*' or 'bert.embeddings.*'; may be "
        "repeated", LEARNING, FOR(TRANSLATE | LABELS | CAPTION | TRANSCRIBE))
    INT("denoise-groups", 0, "N", "5", denoise_groups, 0, 100,
        "denoising: groups of the true boxes, moved at random, that the decoder puts right beside its queries; "
        "0: none", LEARNING, FOR(DETECT), NEEDS(HD_HAS_ANCHORS))
    REAL("no-object-weight", 0, "X", "0.1", no_object_weight, 0.001, 10,
        "weight of queries without an object in the loss of labels", LEARNING, FOR(DETECT))
    FLAG("sum-loss", 0, sum_loss,
        "use the gradient of the sum of the losses in a batch, not of their mean: --lr is then smaller, "
        "--clip larger", LEARNING, UPDATES)
    FLAG("recompute", 0, recompute, "recompute activations in the backward pass instead of storing them",
        LEARNING, FOR(TRANSLATE | CAPTION | TRANSCRIBE), NEEDS(HD_HAS_BLOCKS))
    INT("seed", 0, "N", "1", seed, 0, 2147483647,
        "random seed: the same seed gives the same bits on the same device and instruction set (heed info "
        "--devices), with any number of threads", LEARNING, UPDATES)

    LONG("epochs", 'e', "N", "0", epochs, 0, 1e9, "stop after so many passes over the data; 0: no limit",
        LIMITS, LIMIT, UPDATES)
    LONG("steps", 's', "N", "0", steps, 0, 4e9, "stop after so many updates; 0: no limit", LIMITS, LIMIT,
        UPDATES)
    REAL("minutes", 'm', "X", "0", minutes, 0, 1e7, "stop this call after so many minutes; 0: no limit",
        LIMITS, CALL)
    LONG("patience", 0, "N", "0", patience, 0, 1e9,
        "stop after so many validations without a new best model; 0: no limit", LIMITS, LIMIT,
        NEEDS(HD_HAS_VALIDATION))

    LONG("valid-every", 0, "N", "0", valid_every, 0, 1e15,
        "validate every N updates; 0: every epoch, and at least every 1000 updates", REPORTS, UPDATES)
    INT("bleu-sentences", 0, "N", "500", bleu_sentences, 0, 100000000,
        "validation sentences to translate for BLEU; 0: none", REPORTS, FOR(TRANSLATE))
    CHOICE("select-by", 0, "BY", "bleu", select_by, hd_choice_names,
        "what decides which model is the best: bleu (translate), cider (caption), wer (transcribe) or loss", REPORTS,
        FOR(TRANSLATE | CAPTION | TRANSCRIBE))
    INT("caption-images", 0, "N", "1000", caption_images, 0, 100000000,
        "validation pictures to caption for CIDEr-D; 0: none", REPORTS, FOR(CAPTION))
    INT("wer-sounds", 0, "N", "1000", wer_sounds, 0, 100000000,
        "validation sounds to transcribe for the word error rate; 0: none", REPORTS, FOR(TRANSCRIBE))
    LONG("save-every", 0, "N", "0", save_every, 0, 1e15,
        "save a checkpoint every N updates; 0: at every validation", REPORTS, REPORT, UPDATES)
    LONG("report-every", 0, "N", "100", report_every, 1, 1e15, "log every N updates", REPORTS, REPORT,
        UPDATES)

    TEXT("device", 'd', "NAME", "auto", device, "where to compute: auto, cpu or cuda", MACHINE, REPORT)
    CHOICE("precision", 0, "KIND", "auto", precision, hd_precision_names, "of products: f32 or bf16, which is faster; weights and gradients stay f32. auto: bf16 on CUDA, f32 on the CPU; int8 is for inference",
        MACHINE)
    CHOICE("weights", 0, "KIND", "f32", weights, weights,
        "f32, or bf16: with --precision bf16 on a card, matrices of Transformer blocks are kept in bf16 alone, rounded by chance after "
        "each update: 4 bytes less for each", MACHINE, FOR(LM | MLM | REWARD))

#undef FLAG
#undef INT
#undef LONG
#undef REAL
#undef CHOICE
#undef TEXT
#undef TEXTS
#undef PATH
#undef FILES
/* clang-format on */

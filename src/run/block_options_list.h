/* Options of `heed train`: blocks of modern decoders. A part of run/options_list.h, which says how it is
   read. */
/* clang-format off */

    CHOICE("norm-kind", 0, "KIND", "layer", norm_kind, norm_kinds,
        "norms: layer (mean and deviation, gain and bias) or rms (root of the mean square, a gain alone)", MODERN_BLOCKS)
    CHOICE("ffn", 0, "KIND", "plain", ffn, ffns,
        "feed-forward layers: plain, or gated: act(x W1) * (x W3), which is SwiGLU with --activation silu and GeGLU with "
        "gelu_tanh", MODERN_BLOCKS)
    CHOICE("bias", 0, "WHICH", "all", bias, biases,
        "biases of linear layers: all, qkv (queries, keys and values alone) or none", MODERN_BLOCKS)
    INT("kv-heads", 0, "N", "0", kv_heads, 0, 1024,
        "heads of keys and values, each shared by as many queries (grouped-query attention); 0: as --heads",
        MODERN_BLOCKS)
    INT("head-width", 0, "N", "0", head_width, 0, 65536, "columns of a head; 0: --width / --heads", MODERN_BLOCKS)
    CHOICE("qk-norm", 0, "HOW", "none", qk_norm, hd_qk_norm_names,
        "RMS norms of queries and keys: of each head, of the whole vector, or none", MODERN_BLOCKS)
    REAL("rope-theta", 0, "X", "10000", rope_theta, 1.000001, 1e15,
        "base of the wavelengths of rotary positions; larger ones for longer contexts", MODERN_BLOCKS)
    INT("sliding-window", 0, "N", "0", window, 0, 1048576,
        "tokens that attention sees, the current one included (sliding window); 0: all before it", MODERN_BLOCKS)
    INT("window-every", 0, "N", "0", window_every, 0, 1000,
        "with --sliding-window: every N-th layer sees all tokens; 0: none does", MODERN_BLOCKS)
    REAL("score-cap", 0, "X", "0", score_cap, 0, 1e6,
        "attention scores become X tanh(score / X); 0: as they are", MODERN_BLOCKS)
    REAL("logit-cap", 0, "X", "0", logit_cap, 0, 1e6, "logits become X tanh(logit / X); 0: as they are",
        MODERN_BLOCKS)
    INT("latent-rank", 0, "N", "32", latent_rank, 1, 65536,
        "latent attention: columns of the vector that keys and values of all heads come from (kv_lora_rank); the cache keeps "
        "it and --rope-width numbers of a token in each layer", LATENT)
    INT("query-rank", 0, "N", "0", query_rank, 0, 65536,
        "latent attention: columns of a vector that queries come from (q_lora_rank); 0: straight from the hidden state",
        LATENT)
    INT("nope-width", 0, "N", "32", nope_width, 1, 65536,
        "latent attention: columns of a head of queries and keys without rotation (qk_nope_head_dim)", LATENT)
    INT("rope-width", 0, "N", "16", rope_width, 2, 512,
        "latent attention: columns of a head with rotation, of which keys have one for all heads (qk_rope_head_dim)", LATENT)
    INT("value-width", 0, "N", "32", value_width, 1, 65536, "latent attention: columns of a head of values (v_head_dim)",
        LATENT)

/* clang-format on */

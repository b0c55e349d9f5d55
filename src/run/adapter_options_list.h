/* Options of `heed train`: LoRA. A part of run/options_list.h, which says how to read it. */
/* clang-format off */

    INT("lora", 0, "N", "0", lora, 0, 16384,
        "LoRA: leave the weights of --from as they are and learn to each matrix a product of two thin ones of rank N, as "
        "peft has it; --out is an adapter, which `heed merge` makes part of the model; 0: learn all weights", LORA,
        NEEDS(HD_HAS_FROM))
    REAL("lora-alpha", 0, "X", "0", lora_alpha, 0, 1e6,
        "what the product counts is X / N; 0: X is twice --lora", LORA, NEEDS(HD_HAS_LORA))
    TEXT("lora-targets", 0, "NAMES", "all", lora_targets,
        "linear layers that get one, by the ends of their names with commas between (q_proj,v_proj), or all: those of all "
        "layers but experts and output", LORA, NEEDS(HD_HAS_LORA))
    REAL("lora-dropout", 0, "X", "0", lora_dropout, 0, 0.999,
        "dropout of what the product reads", LORA, NEEDS(HD_HAS_LORA))

/* clang-format on */

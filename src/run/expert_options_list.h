/* Options of `heed train`: experts. A part of run/options_list.h, which says how to read it. */
/* clang-format off */

    INT("experts", 0, "N", "8", experts, 1, 1024,
        "experts of a block: feed-forward layers of which a router picks some for each token", EXPERTS)
    INT("experts-used", 0, "N", "2", experts_used, 1, 64, "experts that a token uses", EXPERTS)
    INT("shared-experts", 0, "N", "0", shared_experts, 0, 64, "experts that all tokens use beside them", EXPERTS)
    INT("expert-width", 0, "N", "0", expert_width, 0, 4194304,
        "hidden size of an expert; 0: so that those a token uses have --ffn-size together, rounded to eights", EXPERTS)
    INT("dense-layers", 0, "N", "0", dense_layers, 0, 1000, "first layers that have a feed-forward layer in place of experts",
        EXPERTS)
    INT("experts-every", 0, "N", "1", experts_every, 1, 1000, "every so many layers has experts", EXPERTS)
    CHOICE("router", 0, "KIND", "softmax", router, hd_router_names,
        "scores of experts: softmax over all of them, or sigmoid, each by itself", EXPERTS)
    INT("expert-groups", 0, "N", "0", expert_groups, 0, 1024,
        "groups of experts, of which a token uses --expert-groups-used; 0: none", EXPERTS)
    INT("expert-groups-used", 0, "N", "1", expert_groups_used, 1, 1024, "groups of experts that a token uses", EXPERTS)
    REAL("router-scale", 0, "X", "1", router_scale, 0.001, 1000, "factor on the weights of experts", EXPERTS)
    FLAG("router-raw", 0, router_raw,
        "weights of experts are their scores as they are; without it those of a token sum to 1", EXPERTS)
    FLAG("router-bias", 0, router_bias,
        "a bias for each expert that changes the choice and no weight; on with --balance bias, which moves it", EXPERTS)
    CHOICE("balance", 0, "KIND", "bias", balance, balances,
        "how loads of experts are kept even: bias: one for each expert that moves against its load after each update; loss: a "
        "loss over all tokens of a batch and all layers; sequence: one of each window and layer; both: bias and sequence; none",
        BALANCING)
    REAL("balance-loss", 0, "X", "0.01", balance_loss, 0, 100, "coefficient of the loss that --balance adds", BALANCING)
    REAL("balance-rate", 0, "X", "0.001", balance_rate, 0, 100, "by how much --balance bias moves biases in an update, falling with the schedule",
        BALANCING)

/* clang-format on */

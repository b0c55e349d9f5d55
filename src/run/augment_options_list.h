/* Rows of run/options_list.h: what is changed in data while it is learned from. */
/* clang-format off */

    REAL("picture-memory", 0, "X", "0.25", picture_memory, 0, 1,
        "share of the free memory for pictures that are decoded once; others are decoded in every epoch", DATA,
        FOR(PICTURES), NEEDS(HD_HAS_PICTURES), REPORT)
    CHOICE("augment", 0, "HOW", "plain", augment, augmentations,
        "plain: only what the options below ask for; strong: also RandAugment of 2 operations and CutMix; auto: "
        "strong for color pictures that a run sees 50 times or more", AUGMENTS(LABELS))
    CHOICE("flip", 0, "HOW", "none", flip, flips,
        "mirror pictures at random: none, horizontal (left and right), vertical, both, turns (both, and by "
        "right angles) or auto (horizontal, but none where captions say left and right)", AUGMENTATION)
    REAL("crop", 0, "X", "1", crop, 0.01, 1,
        "cut out a random part and scale it up: the least fraction of the area that is kept; 1: no crop",
        AUGMENTATION)
    INT("shift", 0, "N", "0", shift, 0, 1024, "shift by up to N pixels in each direction", AUGMENTATION)
    REAL("scale-jitter", 0, "X", "0", scale_jitter, 0, 3, "scale by a factor between 1 / (1 + X) and 1 + X",
        AUGMENTATION)
    REAL("rotate", 0, "X", "0", rotate, 0, 180, "rotate by up to X degrees", AUGMENTATION)
    REAL("color", 0, "X", "0", color, 0, 1,
        "change brightness, contrast and saturation by up to this fraction", AUGMENTATION)
    INT("random-augment", 0, "N", "0", random_augment, 0, 16,
        "RandAugment: apply N random operations to each picture", AUGMENTATION)
    REAL("augment-strength", 0, "X", "0.5", augment_strength, 0, 1,
        "strength of these operations, 1: the strongest", AUGMENTATION)
    REAL("erase", 0, "X", "0", erase, 0, 1, "probability that a random rectangle is erased", AUGMENTATION)
    REAL("mixup", 0, "X", "0", mixup, 0, 100,
        "mixup: blend pictures, and their labels, in pairs; parameter of the beta distribution of the "
        "shares; 0: none", AUGMENTATION)
    REAL("cutmix", 0, "X", "0", cutmix, 0, 100,
        "CutMix: paste a rectangle of another picture; the same parameter; with --mixup each batch draws "
        "one of them; 0: none", AUGMENTATION)

    INT("transpose", 0, "N", "0", transpose, 0, 24,
        "transpose each piece of music by up to N semitones up or down, drawn anew in every epoch", MUSIC)
    REAL("stretch", 0, "X", "0", stretch, 0, 0.5,
        "stretch the time of each performance by up to this fraction, longer or shorter", MUSIC)
    INT("bin-masks", 0, "N", "0", bin_masks, 0, 100, "SpecAugment: mask N bands of mel bins", MASKS)
    INT("bin-mask-size", 0, "N", "8", bin_mask_size, 1, 512, "most bins of such a band", MASKS)
    INT("frame-masks", 0, "N", "0", frame_masks, 0, 100, "SpecAugment: mask N stretches of frames", MASKS)
    REAL("frame-mask-share", 0, "X", "0.15", frame_mask_share, 0.001, 1,
        "most of a sound that such a stretch has, as a fraction", MASKS)

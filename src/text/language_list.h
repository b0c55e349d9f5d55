/* Languages as Whisper calls them: their codes, in the order of its tokens, and their English names. */
#ifndef HD_TEXT_LANGUAGE_LIST_H
#define HD_TEXT_LANGUAGE_LIST_H

/* X(code, name) */
/* clang-format off */
#define HD_LANGUAGE_LIST(X)                                                                               \
    X("en", "english") X("zh", "chinese") X("de", "german") X("es", "spanish") X("ru", "russian")         \
    X("ko", "korean") X("fr", "french") X("ja", "japanese") X("pt", "portuguese") X("tr", "turkish")      \
    X("pl", "polish") X("ca", "catalan") X("nl", "dutch") X("ar", "arabic") X("sv", "swedish")            \
    X("it", "italian") X("id", "indonesian") X("hi", "hindi") X("fi", "finnish") X("vi", "vietnamese")    \
    X("he", "hebrew") X("uk", "ukrainian") X("el", "greek") X("ms", "malay") X("cs", "czech")             \
    X("ro", "romanian") X("da", "danish") X("hu", "hungarian") X("ta", "tamil") X("no", "norwegian")      \
    X("th", "thai") X("ur", "urdu") X("hr", "croatian") X("bg", "bulgarian") X("lt", "lithuanian")        \
    X("la", "latin") X("mi", "maori") X("ml", "malayalam") X("cy", "welsh") X("sk", "slovak")             \
    X("te", "telugu") X("fa", "persian") X("lv", "latvian") X("bn", "bengali") X("sr", "serbian")         \
    X("az", "azerbaijani") X("sl", "slovenian") X("kn", "kannada") X("et", "estonian")                    \
    X("mk", "macedonian") X("br", "breton") X("eu", "basque") X("is", "icelandic") X("hy", "armenian")    \
    X("ne", "nepali") X("mn", "mongolian") X("bs", "bosnian") X("kk", "kazakh") X("sq", "albanian")       \
    X("sw", "swahili") X("gl", "galician") X("mr", "marathi") X("pa", "punjabi") X("si", "sinhala")       \
    X("km", "khmer") X("sn", "shona") X("yo", "yoruba") X("so", "somali") X("af", "afrikaans")            \
    X("oc", "occitan") X("ka", "georgian") X("be", "belarusian") X("tg", "tajik") X("sd", "sindhi")       \
    X("gu", "gujarati") X("am", "amharic") X("yi", "yiddish") X("lo", "lao") X("uz", "uzbek")             \
    X("fo", "faroese") X("ht", "haitian creole") X("ps", "pashto") X("tk", "turkmen") X("nn", "nynorsk")  \
    X("mt", "maltese") X("sa", "sanskrit") X("lb", "luxembourgish") X("my", "myanmar") X("bo", "tibetan") \
    X("tl", "tagalog") X("mg", "malagasy") X("as", "assamese") X("tt", "tatar") X("haw", "hawaiian")      \
    X("ln", "lingala") X("ha", "hausa") X("ba", "bashkir") X("jw", "javanese") X("su", "sundanese")       \
    X("yue", "cantonese")
/* clang-format on */

/* X(another name, code) */
/* clang-format off */
#define HD_LANGUAGE_ALIAS_LIST(X)                                                                          \
    X("burmese", "my") X("valencian", "ca") X("flemish", "nl") X("haitian", "ht") X("letzeburgesch", "lb") \
    X("pushto", "ps") X("panjabi", "pa") X("moldavian", "ro") X("moldovan", "ro") X("sinhalese", "si")     \
    X("castilian", "es") X("mandarin", "zh")
/* clang-format on */

#endif

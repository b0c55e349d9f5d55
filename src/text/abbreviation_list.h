/* Words with a full stop that rarely end a sentence, without that stop. A small first letter stands for a
   capital, too. Initials, letters with stops between them (U.S., z.B.) and ordinal numbers need no entry, and
   words that end a sentence as they are ("mind", "sun") must not have one. */
#ifndef HD_TEXT_ABBREVIATION_LIST_H
#define HD_TEXT_ABBREVIATION_LIST_H

/* Followed by something that belongs to them: a name, an explanation. */
#define HD_ABBREVIATIONS /* English */                                                                       \
    "Mr", "Mrs", "Ms", "Mx", "Dr", "Prof", "St", "Mt", "Ft", "Rev", "Hon", "Gen", "Col", "Lt", "Capt",       \
        "Cmdr", "Sgt", "Maj", "Adm", "Gov", "Sen", "Rep", "Pres", "Supt", "Messrs", "vs", "cf", "viz",       \
        "approx", "ca", "resp", "incl", "excl", "Ave", "Blvd", "al", "e.g", "i.e", /* German */ "Hr", "Hrn", \
        "Fr", "Frl", "Dipl", "Ing", "Mag", "bzw", "bspw", "vgl", "sog", "ggf", "evtl", "inkl", "exkl",       \
        "zzgl", "abzgl", "geb", "gest", "lt", "Hrsg", "Bd", "Bde", "Abt", "Abs", "Kap", "Bsp", "Str", "rd",  \
        "allg", "eigtl", "urspr", "entspr", "einschl", "insb", "insbes", "Univ", "dt", "engl", "franz",      \
        "griech", "hl", "z.B", "d.h", "u.a", "i.d.R", "s.o", "s.u", "z.T", "o.g", "v.a", "i.A", "d.i",       \
        /* French */ "Mme", "Mmes", "Mlle", "Mlles", "MM", "Mgr", "Ste", "env", "av", "boul", "c.-à-d",      \
        "p.ex", /* Spanish, Portuguese, Italian */ "Sra", "Sras", "Srs", "Srta", "Dña", "Dra", "Dres", "Ud", \
        "Uds", "Vd", "Vds", "Avda", "Exmo", "Excmo", "Profa", "p.ej", "p.e", "EE", "aprox", "Sig", "Sigg",   \
        "Dott", "Avv", "Geom", "Egr", "Spett", "p.es", /* Dutch, Scandinavian */ "dhr", "mevr", "drs",       \
        "mej", "bijv", "o.a", "d.w.z", "m.a.w", "t.ex", "bl.a", "d.v.s", "f.eks", "bl", "dvs", "kl",         \
        /* Polish, Czech, Slovak, Hungarian, Turkish */ "np", "tzn", "tzw", "mgr", "inż", "prof", "hab",     \
        "ul", "pl", "im", "tj", "tzv", "např", "napr", "popř", "ing", "Bc", "JUDr", "MUDr", "PhDr", "RNDr",  \
        "sv", "dl", "özv", "Sn", "Doç", "vb", /* Russian, Ukrainian, Greek */ "т.е", "т.к", "т.н", "т.ч",    \
        "напр", "им", "ул", "пр", "пл", "пер", "гр", "тов", "проф", "акад", "доц", "см", "ср", "обл", "тел", \
        "вул", "δρ", "π.χ", "δηλ", "βλ"

/* Followed by a number: "No. 5", "p. 12"; before anything else they end a sentence like any word. */
#define HD_NUMBER_ABBREVIATIONS                                                                            \
    "no", "nos", "nr", "n", "núm", "num", "art", "arts", "fig", "figs", "abb", "tab", "eq", "eqs", "p",    \
        "pp", "s", "pág", "págs", "pag", "str", "vol", "vols", "ch", "chap", "sec", "sect", "par", "ziff", \
        "aufl", "č", "ст", "стр", "с", "рис", "табл", "гл", "п", "№", "nº", "ver", "op", "tel", "ext",     \
        "max", "min", "v", "anm", "rn", "cap", "blz", "afb", "ff"

/* They may end a sentence: before a capital they do if the next word often begins one. */
#define HD_DOUBTFUL_ABBREVIATIONS                                                                            \
    "Inc", "Ltd", "Co", "Corp", "Bros", "Jr", "Sr", "Ph.D", "M.D", "B.A", "M.A", "a.m", "p.m", "Jan", "Feb", \
        "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Okt", "Nov", "Dec", "Dez", "Mon", "Tue",   \
        "Tues", "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun", "sept", "okt", "nov", "déc", "janv",     \
        "févr", "juil", "Mio", "Mrd", "Tsd", "Std", "Chr", "г", "гг", "в", "вв", "н.э"

/* Words that begin sentences and are lowercase elsewhere, as written at the start. */
#define HD_SENTENCE_STARTERS                                                                                 \
    "The", "A", "An", "He", "She", "It", "They", "We", "You", "I", "This", "That", "These", "Those",         \
        "There", "But", "And", "Or", "So", "In", "On", "At", "By", "For", "From", "With", "When", "While",   \
        "Where", "After", "Before", "If", "As", "However", "His", "Her", "Its", "Their", "Our", "My",        \
        "Then", "Now", "What", "Who", "Why", "How", "Not", "No", "Yes", "To", "Of", "Most", "Some", "Many",  \
        "All", "Der", "Die", "Das", "Ein", "Eine", "Er", "Sie", "Es", "Wir", "Ich", "Ihr", "Und", "Aber",    \
        "Im", "Am", "Auf", "Dann", "Dort", "Dieser", "Diese", "Dieses", "Nach", "Als", "Wenn", "Doch",       \
        "Sein", "Seine", "Le", "La", "Les", "Un", "Une", "Il", "Elle", "Ils", "Elles", "Nous", "Vous", "Je", \
        "Mais", "Et", "Ce", "Cette", "Dans", "El", "Los", "Las", "Una", "Pero", "Y", "En", "Ella", "Lo",     \
        "Gli", "Ma", "Nel", "Questo", "O", "Os", "Um", "Uma", "Ele", "Ela", "Mas", "De", "Het", "Een",       \
        "Hij", "Zij", "Wij", "Maar", "Он", "Она", "Они", "Мы", "Я", "Это", "В", "На", "Но", "И"

/* After "19." as in German: no sentence ends before them. */
#define HD_ORDINAL_NOUNS                                                                                     \
    "Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", \
        "November", "Dezember", "Jahrhundert", "Jahrhunderts", "Jahrhunderte", "Jahrtausend", "Weltkrieg",   \
        "Weltkriegs", "Weltkrieges", "Klasse", "Kapitel", "Auflage", "Ausgabe", "Platz", "Mal", "Stock",     \
        "Etage", "Bundesliga", "Liga", "Geburtstag", "Tag", "Lebensjahr", "Sitzung", "Wahlperiode",          \
        "Bezirk", "Runde", "Minute", "Semester", "Sinfonie", "Armee", "Division", "Strophe"

/* Before "3." as in German. */
#define HD_ORDINAL_ARTICLES                                                                                 \
    "am", "der", "die", "das", "dem", "den", "des", "im", "vom", "zum", "zur", "beim", "ab", "bis", "seit", \
        "jeder", "jeden", "jedes"

#endif

"""heed in Python: one file on top of the shared library, nothing to compile. `make install` puts it on python3's path.

    import heed

    model = heed.Model("model-folder")            # or: with heed.Model("model-folder") as model:
    for t in model.translate(["I ate an apple .", "You ate it , too ."], beam=8):
        print(t.text)

    best, second = model.translate(["I ate an apple ."], n_best=2)[0].hypotheses
    print(best.score, list(zip(best.tokens, best.token_log_probabilities)))

    t = model.translate(["I ate an apple ."], attention=True)[0]
    cross = t.attention("cross")                  # weights[layer, head, row, column]
    print(cross.row_labels, cross.column_labels, cross.weights[-1, 0, 0, 0])
    numpy.asarray(cross.weights)                  # without a copy

    with heed.Model("gpt-folder") as gpt:         # other models: generate, embed, fill, classify, score, tokenize
        print(gpt.generate(["To be"], tokens=40, temperature=0.8)[0].text)
        print(gpt.chat([{"role": "user", "content": "Who are you?"}])[0].text)  # where it has a chat template
        for piece in gpt.stream("To be", tokens=40):
            print(piece, end="", flush=True)
        gpt.heads("0.self.1=0")                   # of this thread, until gpt.heads(None)

A model may be used by any number of threads; each gets its own context when it first translates. The library
computes without holding Python's lock. close(), or the end of a with block, frees a model's memory at once; otherwise
it is freed when Python collects the model.

The library is searched at the path in the environment variable HEED_LIBRARY, beside this file, in the build folder of
the checkout that contains this file, in the library folder above its installed place, and on the system's library path.
"""

import ctypes
import os
import queue
import threading
import weakref
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_size_t
from ctypes import c_uint64, c_void_p

__all__ = ["Answer", "Attention", "Choice", "Error", "Hypothesis", "Model", "Text", "Tokens", "Translation", "Verdict",
           "version"]

STATUS = ("OK", "ENOMEM", "EARG", "ESHAPE", "EFILE", "EFORMAT", "ELIMIT", "ENUMBER", "EMISSING", "EDEVICE",
          "ESTOPPED")
CHECKPOINTS = ("best", "last")
PRECISIONS = ("auto", "f32", "bf16", "int8")
SEARCHES = ("beam", "sample", "exhaustive")
LENGTH_PENALTIES = ("none", "average", "gnmt")
STOPS = ("proven", "full", "limit", "best")
LONGS = ("split", "truncate", "skip")
SENTENCES = ("auto", "split", "keep")
KINDS = ("encoder", "decoder", "cross")
POOLINGS = ("auto", "mean", "last", "max", "first")
SIDES = ("source", "target")


class Error(Exception):
    """An error of the library: str() is its text; status and name ("EFILE") are the number and name of heed_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.name = STATUS[status] if 0 <= status < len(STATUS) else str(status)


# -- the structs of heed.h --


class _Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 512)]


class _ModelOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("checkpoint", c_int), ("device", c_char_p), ("precision", c_int),
                ("shortlist", c_char_p)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_int),
        ("log", c_void_p),
        ("log_user", c_void_p),
        ("log_most", c_int),
    ]


class _Hypothesis(ctypes.Structure):
    _fields_ = [
        ("text", c_char_p),
        ("score", c_double),
        ("log_probability", c_double),
        ("finished", c_bool),
        ("length", c_size_t),
        ("id", POINTER(c_int32)),
        ("token", POINTER(c_char_p)),
        ("token_log_probability", POINTER(c_float)),
        ("part_end", POINTER(c_size_t)),
    ]


class _Translation(ctypes.Structure):
    _fields_ = [
        ("status", c_int),
        ("error", c_char_p),
        ("text", c_char_p),
        ("count", c_size_t),
        ("hypothesis", POINTER(POINTER(_Hypothesis))),
        ("cut", c_bool),
        ("parts", c_size_t),
        ("source_length", c_size_t),
        ("source_id", POINTER(c_int32)),
        ("source_token", POINTER(c_char_p)),
        ("source_end", POINTER(c_size_t)),
    ]


class _Results(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("translation", POINTER(POINTER(_Translation)))]


class _Attention(ctypes.Structure):
    _fields_ = [
        ("line", c_size_t),
        ("part", c_size_t),
        ("translation", POINTER(_Translation)),
        ("kind", c_int),
        ("layers", c_size_t),
        ("heads", c_size_t),
        ("rows", c_size_t),
        ("cols", c_size_t),
        ("weight", POINTER(c_float)),
        ("row_label", POINTER(c_char_p)),
        ("col_label", POINTER(c_char_p)),
    ]


_AttentionFn = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_Attention))


class _TranslateOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("search", c_int),
        ("beam", c_size_t),
        ("n_best", c_size_t),
        ("length_penalty", c_int),
        ("alpha", c_double),
        ("stop", c_int),
        ("max_length", c_size_t),
        ("max_ratio", c_double),
        ("min_length", c_size_t),
        ("temperature", c_double),
        ("top_k", c_size_t),
        ("top_p", c_double),
        ("seed", c_uint64),
        ("first_line", c_uint64),
        ("too_long", c_int),
        ("max_source", c_size_t),
        ("batch", c_size_t),
        ("line_size", POINTER(c_size_t)),
        ("prefix", POINTER(c_char_p)),
        ("prefix_size", POINTER(c_size_t)),
        ("force", c_bool),
        ("attention", _AttentionFn),
        ("attention_user", c_void_p),
        ("sentences", c_int),
    ]


class _Text(ctypes.Structure):
    _fields_ = [
        ("text", c_char_p),
        ("size", c_size_t),
        ("stopped", c_bool),
        ("tokens", c_size_t),
        ("log_probability", c_double),
        ("length", c_size_t),
        ("id", POINTER(c_int32)),
    ]


_TextFn = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_size_t)


class _GenerateOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("tokens", c_size_t),
        ("samples", c_size_t),
        ("temperature", c_double),
        ("top_k", c_size_t),
        ("top_p", c_double),
        ("min_p", c_double),
        ("repetition", c_double),
        ("no_repeat", c_size_t),
        ("seed", c_uint64),
        ("first_prompt", c_int32),
        ("stop", POINTER(c_char_p)),
        ("stops", c_size_t),
        ("prompt_size", POINTER(c_size_t)),
        ("tell", _TextFn),
        ("tell_user", c_void_p),
    ]


class _Message(ctypes.Structure):
    _fields_ = [("role", c_char_p), ("content", c_char_p)]


class _EmbedOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("pooling", c_int),
        ("normalize", c_bool),
        ("whole", c_bool),
        ("line_size", POINTER(c_size_t)),
    ]


class _Vector(ctypes.Structure):
    _fields_ = [("status", c_int), ("error", c_char_p), ("tokens", c_size_t), ("value", POINTER(c_float))]


class _Vectors(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("width", c_size_t), ("at", POINTER(POINTER(_Vector)))]


class _Choice(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("id", c_int32), ("probability", c_double)]


class _Choices(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("choice", POINTER(POINTER(_Choice)))]


class _Answer(ctypes.Structure):
    _fields_ = [("status", c_int), ("error", c_char_p), ("count", c_size_t), ("at", POINTER(POINTER(_Choices)))]


class _Verdict(ctypes.Structure):
    _fields_ = [("status", c_int), ("error", c_char_p), ("log_probability", c_double), ("tokens", c_size_t)]


def _list_of(struct):
    """A count, and pointers to so many of a struct."""
    return type("_Listed", (ctypes.Structure,), {"_fields_": [("count", c_size_t), ("at", POINTER(POINTER(struct)))]})


_Texts, _Answers, _Verdicts = _list_of(_Text), _list_of(_Answer), _list_of(_Verdict)


class _Tokens(ctypes.Structure):
    _fields_ = [
        ("length", c_size_t),
        ("id", POINTER(c_int32)),
        ("token", POINTER(c_char_p)),
        ("begin", POINTER(c_size_t)),
        ("end", POINTER(c_size_t)),
    ]


# -- the library --


def _places():
    """Where the library may be, best first."""
    if os.environ.get("HEED_LIBRARY"):
        return [os.environ["HEED_LIBRARY"]]  # the only place if it is set
    here = os.path.dirname(os.path.abspath(__file__))
    files = [os.path.join(here, n) for n in ("libheed.so.0", "libheed.so")]
    files.append(os.path.join(here, os.pardir, "build", "libheed.so"))
    files.append(os.path.join(here, os.pardir, os.pardir, "libheed.so.0"))  # lib/python3.N/site-packages
    return [f for f in files if os.path.exists(f)] + ["libheed.so.0", "libheed.so"]


def _load():
    why = []
    for place in _places():
        try:
            return _declare(ctypes.CDLL(place))
        except (OSError, AttributeError) as e:  # missing, or another version
            why.append(str(e))
    raise ImportError("libheed not found (HEED_LIBRARY can name it): " + "; ".join(why))


def _declare(library):
    out, error, results, size = POINTER(c_void_p), POINTER(_Error), POINTER(_Results), c_size_t
    model, context, translate = POINTER(_ModelOptions), POINTER(_ContextOptions), POINTER(_TranslateOptions)
    functions = [
        ("version", c_char_p),
        ("model_options_init", None, model, size),
        ("model_open", c_int, out, c_char_p, model, error),
        ("model_free", None, c_void_p),
        ("context_options_init", None, context, size),
        ("context_new", c_int, out, c_void_p, context, error),
        ("context_free", None, c_void_p),
        ("translate_options_init", None, translate, size),
        ("translate", c_int, c_void_p, POINTER(c_char_p), size, translate, POINTER(results), error),
        ("results_free", None, results),
        ("context_stop", None, c_void_p),
        ("context_heads", c_int, c_void_p, c_char_p, error),
        ("generate_options_init", None, POINTER(_GenerateOptions), size),
        ("generate", c_int, c_void_p, POINTER(c_char_p), size, POINTER(_GenerateOptions), POINTER(POINTER(_Texts)), error),
        ("chat", c_int, c_void_p, POINTER(_Message), size, POINTER(_GenerateOptions), POINTER(POINTER(_Texts)), error),
        ("texts_free", None, POINTER(_Texts)),
        ("embed_options_init", None, POINTER(_EmbedOptions), size),
        ("embed", c_int, c_void_p, POINTER(c_char_p), size, POINTER(_EmbedOptions), POINTER(POINTER(_Vectors)), error),
        ("vectors_free", None, POINTER(_Vectors)),
        ("fill", c_int, c_void_p, POINTER(c_char_p), size, size, POINTER(POINTER(_Answers)), error),
        ("classify", c_int, c_void_p, POINTER(c_char_p), size, size, POINTER(POINTER(_Answers)), error),
        ("answers_free", None, POINTER(_Answers)),
        ("score", c_int, c_void_p, POINTER(c_char_p), POINTER(c_char_p), size, POINTER(POINTER(_Verdicts)), error),
        ("verdicts_free", None, POINTER(_Verdicts)),
        ("tokenize", c_int, c_void_p, c_int, c_char_p, size, POINTER(POINTER(_Tokens)), error),
        ("tokens_free", None, POINTER(_Tokens)),
        ("detokenize", c_int, c_void_p, c_int, POINTER(c_int32), size, c_char_p, size, POINTER(size), error),
    ]
    for name, result, *arguments in functions:
        function = getattr(library, "heed_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def _call(function, *arguments):
    error = _Error()
    if function(*arguments, byref(error)):
        raise Error(error.status, _text(error.text))


def _text(data):
    return data.decode("utf-8", "replace")


def version():
    """The version of the library, "major.minor.patch"."""
    return _text(_library.heed_version())


# -- results --


class Hypothesis:
    """One translation of a line.

    text; score and log_probability; finished (False: the length limit cut it); tokens, ids and
    token_log_probabilities, one for each token, the end token included.
    """

    def __init__(self, h):
        n = h.length
        self.text = _text(h.text)
        self.score = h.score
        self.log_probability = h.log_probability
        self.finished = h.finished
        self.tokens = [_text(t) for t in h.token[:n]]
        self.ids = h.id[:n]
        self.token_log_probabilities = h.token_log_probability[:n]

    def __repr__(self):
        return f"<heed.Hypothesis {self.text!r} {self.score:.4f}>"


class Attention:
    """Every attention weight of one kind ("encoder", "decoder" or "cross") in one part of a line.

    weights is a memoryview of floats: weights[layer, head, row, column]. row_labels and column_labels are
    tokens. part counts from 0: a line of several sentences was translated in parts.
    """

    def __init__(self, a):
        shape = [a.layers, a.heads, a.rows, a.cols]
        count = a.layers * a.heads * a.rows * a.cols
        self.kind = KINDS[a.kind]
        self.part = a.part
        self.weights = memoryview(ctypes.string_at(a.weight, 4 * count)).cast("f", shape)
        self.row_labels = [_text(t) for t in a.row_label[: a.rows]]
        self.column_labels = [_text(t) for t in a.col_label[: a.cols]]

    def matrix(self, layer=-1, head=None):
        """Rows of one matrix as lists: of one head, or the mean of all."""
        layers, heads, rows, cols = self.weights.shape
        layer, which = range(layers)[layer], range(heads) if head is None else [range(heads)[head]]
        mean = lambda i, j: sum(self.weights[layer, h, i, j] for h in which) / len(which)
        return [[mean(i, j) for j in range(cols)] for i in range(rows)]

    def __repr__(self):
        return f"<heed.Attention {self.kind} {self.weights.shape}>"


class Translation:
    """The translation of a line.

    text: of the best hypothesis, "" if there is none. error: None, or an Error with the reason why there is
    none; it is not raised. hypotheses: best first. cut: the line was too long and only its beginning was
    translated. parts: the number of parts it was translated in. source_tokens, source_ids: the model's input.
    attentions: a list, empty unless requested.
    """

    def __init__(self, t):
        n = t.source_length
        self.text = _text(t.text)
        self.error = Error(t.status, _text(t.error)) if t.status else None
        self.hypotheses = [Hypothesis(h.contents) for h in t.hypothesis[: t.count]]
        self.cut = t.cut
        self.parts = t.parts
        self.source_tokens = [_text(p) for p in t.source_token[:n]]
        self.source_ids = t.source_id[:n]
        self.attentions = []

    @property
    def score(self):
        """Score of the best hypothesis; None if there is none."""
        return self.hypotheses[0].score if self.hypotheses else None

    def attention(self, kind="cross", part=0):
        """The Attention of a kind; KeyError if there is none."""
        for a in self.attentions:
            if a.kind == kind and a.part == part:
                return a
        raise KeyError(f"no {kind} attention of part {part}: translate(..., attention=True) collects it")

    def __repr__(self):
        return f"<heed.Translation {self.text!r}>" if not self.error else f"<heed.Translation: {self.error}>"


class Text:
    """What a language model wrote: text; stopped (by a stop or an end, not by the number of tokens); tokens, their number;
    log_probability; ids of all that was read and written."""

    def __init__(self, t):
        self.text = _text(t.text)
        self.stopped = t.stopped
        self.tokens = t.tokens
        self.log_probability = t.log_probability
        self.ids = t.id[: t.length]

    def __repr__(self):
        return f"<heed.Text {self.text!r}>"


class Choice:
    """A token or a label: text, id, probability (of a regression: the number)."""

    def __init__(self, c):
        self.text, self.id, self.probability = _text(c.text), c.id, c.probability

    def __repr__(self):
        return f"<heed.Choice {self.text!r} {self.probability:.4f}>"


class Answer:
    """The answer to a line: places, for each [MASK] or word or for the whole line, a list of Choice, the likeliest first.
    error: None, or an Error with the reason why there is none; it is not raised."""

    def __init__(self, a):
        self.error = Error(a.status, _text(a.error)) if a.status else None
        self.places = [[Choice(c.contents) for c in p.contents.choice[: p.contents.count]] for p in a.at[: a.count]]

    def __repr__(self):
        return f"<heed.Answer {self.places!r}>" if not self.error else f"<heed.Answer: {self.error}>"


class Verdict:
    """What a model thinks of a text: log_probability, tokens; error as of Answer."""

    def __init__(self, v):
        self.error = Error(v.status, _text(v.error)) if v.status else None
        self.log_probability, self.tokens = v.log_probability, v.tokens

    def __repr__(self):
        return f"<heed.Verdict {self.log_probability:.4f} of {self.tokens} tokens>"


class Tokens:
    """Tokens of a text: ids, tokens as in the vocabulary, spans (begin, end) of bytes that they stand for."""

    def __init__(self, t):
        self.ids = t.id[: t.length]
        self.tokens = [_text(p) for p in t.token[: t.length]]
        self.spans = list(zip(t.begin[: t.length], t.end[: t.length]))

    def __repr__(self):
        return f"<heed.Tokens {self.tokens!r}>"


# -- models --


class _Handle:
    """Frees an object of the library when Python collects it, or earlier."""

    def __init__(self, make, free):
        self.value = c_void_p()
        self._free = free
        make(byref(self.value))

    def close(self):
        value, self.value = self.value, c_void_p()
        if value:
            self._free(value)

    __del__ = close


def _choice(value, names, what):
    if value not in names:
        raise Error(STATUS.index("EARG"), f"{what} is {value!r}: it must be one of {', '.join(names)}")
    return names.index(value)


def _strings(values, what):
    """Texts (str, bytes or None) as arrays of pointers and sizes: a text may contain zero bytes."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what} must be a list of texts, not one")
    data = [v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in values]
    sizes = [len(d) if d is not None else 0 for d in data]
    return (c_char_p * len(data))(*data), (c_size_t * len(data))(*sizes), len(data)


class Model:
    """A trained model: Model(folder). Any number of threads may use one.

    checkpoint: "best" of validation or "last" of training. threads: computing threads for each Python thread
    that translates; 0: one per core. device: "cpu", "cuda", or "auto": a CUDA card if there is one.
    precision: "f32", "bf16" (on the CPU only for weights), or "auto": bf16 on a card, f32 on the CPU.
    shortlist: a file of `heed shortlist`, as "FILE[,FIRST[,BEST]]"; None: all tokens. Raises heed.Error.
    """

    def __init__(self, folder, checkpoint="best", threads=0, device="cpu", precision="auto", shortlist=None):
        options = _ModelOptions()
        _library.heed_model_options_init(byref(options), ctypes.sizeof(options))
        options.checkpoint = _choice(checkpoint, CHECKPOINTS, "checkpoint")
        options.device = device.encode()
        options.precision = _choice(precision, PRECISIONS, "precision")
        options.shortlist = None if shortlist is None else os.fsencode(shortlist)
        path = os.fsencode(folder)
        self._threads = threads
        self._own = threading.local()
        self._lock = threading.Lock()
        self._contexts = weakref.WeakSet()  # a thread that ends drops its own
        self._closed = False
        self._model = _Handle(
            lambda out: _call(_library.heed_model_open, out, path, byref(options)),
            _library.heed_model_free,
        )

    def close(self):
        """Frees all memory of the model. No thread may be translating; later calls raise heed.Error."""
        with self._lock:
            self._closed = True
            for context in list(self._contexts):
                context.close()
            self._model.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _context(self):
        if self._closed:
            raise Error(STATUS.index("EARG"), "the model is closed")
        if not hasattr(self._own, "context"):
            options = _ContextOptions()
            _library.heed_context_options_init(byref(options), ctypes.sizeof(options))
            options.threads = self._threads
            self._own.context = _Handle(
                lambda out: _call(_library.heed_context_new, out, self._model.value, byref(options)),
                _library.heed_context_free,
            )
            with self._lock:
                self._contexts.add(self._own.context)
        return self._own.context.value

    def translate(self, lines, *, prefix=None, attention=False, search="beam", length_penalty="average",
                  stop="full", too_long="split", sentences="auto", **options):
        """Translates a list of texts, preferably many at once; returns a list of Translation of the same length.

        Search: search ("beam", "sample", "exhaustive"), beam=5, n_best=1, length_penalty ("average", "none",
        "gnmt"), alpha=0.6, stop ("full", "proven", "limit", "best"), max_length, max_ratio=2, min_length.
        Sampling: temperature=1, top_k, top_p, seed=1, first_line=0.
        Input: sentences ("auto", "split", "keep": whether each sentence of a line is translated separately),
        too_long ("split", "truncate", "skip"), max_source, batch; prefix, a list of beginnings (or
        None) to continue, or with force=True of whole translations to score.
        attention=True collects the attention of each first hypothesis. heed.h describes each in detail.

        Raises heed.Error. A line that cannot be translated has an error instead of hypotheses.
        """
        o = _TranslateOptions()
        _library.heed_translate_options_init(byref(o), ctypes.sizeof(o))
        o.search = _choice(search, SEARCHES, "search")
        o.length_penalty = _choice(length_penalty, LENGTH_PENALTIES, "length_penalty")
        o.stop = _choice(stop, STOPS, "stop")
        o.too_long = _choice(too_long, LONGS, "too_long")
        o.sentences = _choice(sentences, SENTENCES, "sentences")
        for name, value in options.items():
            if name not in self._numbers:
                raise TypeError(f"translate has no option {name!r}")
            setattr(o, name, value)
        text, o.line_size, count = _strings(lines, "lines")
        if prefix is not None:
            o.prefix, o.prefix_size, given = _strings(prefix, "prefix")
            if given != count:
                raise ValueError(f"{given} prefixes for {count} lines")
        collected, failures = [], []
        if attention:
            o.attention = _AttentionFn(lambda user, a: _collect(a.contents, collected, failures))
        return self._run(text, count, o, collected, failures)

    def _listed(self, struct, free, wrap, function, *arguments):
        """Calls a function that gives a list; a copy of it in Python."""
        out = POINTER(struct)()
        try:
            _call(function, *arguments, byref(out))
            return [wrap(one.contents) for one in out.contents.at[: out.contents.count]]
        finally:
            free(out)

    def generate(self, prompts, *, stop=(), tell=None, **options):
        """Continues prompts; returns a list of Text, those of the first prompt first.

        tokens=200, samples=1, temperature=1, top_k, top_p, min_p, repetition=1, no_repeat, seed=1, first_prompt=0; stop: a
        list of texts before which a text ends. tell(which, piece): told of each text while it comes; what it raises ends
        the call.
        """
        text, sizes, count = _strings(prompts, "prompts")
        return self._write(_library.heed_generate, text, count, stop, tell, options, sizes)

    def chat(self, messages, *, stop=(), tell=None, **options):
        """Answers a conversation by the model's chat template; returns a list of Text, one for each of samples=1.

        messages: dicts with "role" ("system", "user", "assistant") and "content". Options are those of generate.
        """
        said = []
        for message in messages:
            pair = [message[key].encode() for key in ("role", "content")]
            if any(b"\0" in text for text in pair):
                raise ValueError("a message has a zero byte")
            said.append(_Message(*pair))
        return self._write(_library.heed_chat, (_Message * len(said))(*said), len(said), stop, tell, options)

    def _write(self, function, asked, count, stop, tell, options, sizes=None):
        o, failures = _GenerateOptions(), []
        _library.heed_generate_options_init(byref(o), ctypes.sizeof(o))
        for name, value in options.items():
            if name not in self._draws:
                raise TypeError(f"{function.__name__[5:]} has no option {name!r}")
            setattr(o, name, value)
        if sizes:
            o.prompt_size = sizes
        ends, _, o.stops = _strings(stop, "stop")
        o.stop = ends

        def told(user, which, piece, size):
            try:
                tell(which, _text(ctypes.string_at(piece, size)))
                return 0
            except BaseException as e:
                failures.append(e)
                return STATUS.index("ESTOPPED")

        if tell:
            o.tell = _TextFn(told)
        try:
            return self._listed(_Texts, _library.heed_texts_free, Text, function, self._context(), asked, count, byref(o))
        except Error:
            if failures:
                raise failures[0]
            raise

    _draws = ("tokens", "samples", "temperature", "top_k", "top_p", "min_p", "repetition", "no_repeat", "seed", "first_prompt")

    def stream(self, prompt, **options):
        """Yields pieces of the text behind a prompt while it is written, as generate does it, or of the answer to a list of
        messages, as chat does. Leaving the loop ends it."""
        pieces, end = queue.Queue(), object()

        def work():
            try:
                self._own.context = context
                write, asked = (self.generate, [prompt]) if isinstance(prompt, str) else (self.chat, prompt)
                write(asked, tell=lambda which, piece: pieces.put(piece), **options)
                pieces.put(end)
            except BaseException as e:
                pieces.put(e)

        self._context()
        context = self._own.context
        thread = threading.Thread(target=work)
        thread.start()
        try:
            while (piece := pieces.get()) is not end:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            while thread.is_alive():  # a stop before its call has begun has no effect
                _library.heed_context_stop(context.value)
                thread.join(0.01)

    def embed(self, lines, *, pooling="auto", normalize=False, whole=False):
        """A vector for each line, as a list of floats; None for an empty line. Raises heed.Error for one that cannot be read.
        pooling: "auto", "mean", "last", "max", "first". whole: lines that are too long are not cut."""
        o = _EmbedOptions()
        _library.heed_embed_options_init(byref(o), ctypes.sizeof(o))
        o.pooling, o.normalize, o.whole = _choice(pooling, POOLINGS, "pooling"), normalize, whole
        text, o.line_size, count = _strings(lines, "lines")
        out = POINTER(_Vectors)()
        try:
            _call(_library.heed_embed, self._context(), text, count, byref(o), byref(out))
            found = []
            for i in range(count):
                v = out.contents.at[i].contents
                if v.status:
                    raise Error(v.status, f"line {i + 1}: {_text(v.error)}")
                found.append(v.value[: out.contents.width] if v.value else None)
            return found
        finally:
            _library.heed_vectors_free(out)

    def fill(self, lines, top=5):
        """What most likely stands at each [MASK]: a list of Answer, one for each line."""
        text, _, count = _strings(lines, "lines")
        return self._listed(_Answers, _library.heed_answers_free, Answer, _library.heed_fill, self._context(), text, count, top)

    def classify(self, lines, top=0):
        """The likeliest labels (0: all) of each line, of a tagger of each word: a list of Answer."""
        text, _, count = _strings(lines, "lines")
        return self._listed(_Answers, _library.heed_answers_free, Answer, _library.heed_classify, self._context(), text, count,
                            top)

    def score(self, texts, sources=None):
        """What the model thinks of texts, of a translator as translations of sources: a list of Verdict."""
        text, _, count = _strings(texts, "texts")
        source, given = None, count
        if sources is not None:
            source, _, given = _strings(sources, "sources")
        if given != count:
            raise ValueError(f"{given} sources for {count} texts")
        return self._listed(_Verdicts, _library.heed_verdicts_free, Verdict, _library.heed_score, self._context(), source, text,
                            count)

    def tokenize(self, text, side="source"):
        """The Tokens of a text, without special ones."""
        data, out = text.encode("utf-8", "surrogatepass"), POINTER(_Tokens)()
        try:
            _call(_library.heed_tokenize, self._model.value, _choice(side, SIDES, "side"), data, len(data), byref(out))
            return Tokens(out.contents)
        finally:
            _library.heed_tokens_free(out)

    def detokenize(self, ids, side="source"):
        """The text of ids."""
        side, id, size = _choice(side, SIDES, "side"), (c_int32 * len(ids))(*ids), c_size_t()
        _call(_library.heed_detokenize, self._model.value, side, id, len(ids), None, 0, byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        _call(_library.heed_detokenize, self._model.value, side, id, len(ids), text, size.value + 1, byref(size))
        return _text(text.raw[: size.value])

    def heads(self, factors):
        """Factors of attention heads for what this thread asks from now on: "enc.2.self.5=0"; None: none."""
        _call(_library.heed_context_heads, self._context(), None if factors is None else factors.encode())

    _numbers = ("beam", "n_best", "alpha", "max_length", "max_ratio", "min_length", "temperature", "top_k",
                "top_p", "seed", "first_line", "max_source", "batch", "force")

    def _run(self, text, count, options, collected, failures):
        results = POINTER(_Results)()
        try:
            _call(_library.heed_translate, self._context(), text, count, byref(options), byref(results))
            found = [Translation(t.contents) for t in results.contents.translation[:count]]
        except Error:
            if failures:
                raise failures[0]
            raise
        finally:
            _library.heed_results_free(results)
        for line, a in collected:
            found[line].attentions.append(a)
        return found


def _collect(a, to, failures):
    """An exception must not propagate into C: it is kept, and the call is ended."""
    try:
        to.append((a.line, Attention(a)))
        return 0
    except BaseException as e:
        failures.append(e)
        return STATUS.index("ENOMEM")

// The SentencePiece library as C. Easy to get wrong: what the library checks with CHECK ends the process, so
// every condition it treats so is checked here or in sentencepiece.c before the call.
#include <cstdio>
#include <cstring>
#include <locale>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

extern "C" {
#include "base/mem.h"
#include "text/sentencepiece/sentencepiece_shim.h"
}

using sentencepiece::SentencePieceProcessor;
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;

// Asking the library for a piece may allocate, and so fail, each time: what never changes is asked for once.
struct hd_spm {
    SentencePieceProcessor processor;
    std::vector<const char *> piece; // borrowed from the processor
    hd_spm_special special;
};

namespace
{

// Fixed, since the sums of the unigram model depend on it: the same text must give the same model on every
// machine.
const char *const kThreads = "4";

// Runs f and turns what it throws into a status.
template <class F> hd_status guard(hd_err *err, F f) noexcept
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return hd_err_set(err, HD_ENOMEM, "out of memory in SentencePiece");
    } catch (const std::exception &e) {
        return hd_err_set(err, HD_EFORMAT, "SentencePiece: %s", e.what());
    } catch (...) {
        return hd_err_set(err, HD_EFORMAT, "SentencePiece failed");
    }
}

// "Internal: src/x.cc(582) [a <= b] text" without what is for its programmers only.
hd_status fail(hd_err *err, hd_status s, const Status &status)
{
    const char *text = status.message();
    const char *bracket = std::strstr(text, "] ");
    return hd_err_set(err, s, "SentencePiece: %s", bracket && bracket[2] ? bracket + 2 : text);
}

// The library logs to stderr unless told otherwise, and the only public way to tell it is an option of the
// trainer, which is obeyed before the rest (no lines, no output) is refused.
void be_quiet()
{
    static std::once_flag once;
    std::call_once(once, [] {
        const std::unordered_map<std::string, std::string> options = {{"minloglevel", "3"}};
        SentencePieceTrainer::Train(options).IgnoreError();
    });
}

class Lines : public sentencepiece::SentenceIterator
{
  public:
    Lines(hd_spm_next *next, void *context) : next_(next), context_(context) { Next(); }
    bool done() const override { return done_; }
    const std::string &value() const override { return line_; }
    Status status() const override { return Status(); }
    void Next() override
    {
        const char *text = nullptr;
        size_t size = 0;
        done_ = !next_(context_, &text, &size);
        if (!done_) line_.assign(text, size);
    }

  private:
    hd_spm_next *next_;
    void *context_;
    bool done_ = false;
    std::string line_;
};

// Not std::to_string: its decimal point is the locale's.
std::string text_of(double number)
{
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << number;
    return out.str();
}

size_t needed_by(const char *text)
{
    size_t vocab = 0, needed = 0;
    const char *at = std::strstr(text, "required_chars. ");
    return at && std::sscanf(at, "required_chars. %zu vs %zu", &vocab, &needed) == 2 ? needed : 0;
}

void keep_pieces(hd_spm *m)
{
    const SentencePieceProcessor &p = m->processor;
    const int count = p.GetPieceSize();
    m->piece.reserve(static_cast<size_t>(count));
    for (int id = 0; id < count; id++) m->piece.push_back(p.IdToPiece(id).c_str());
    m->special = {p.pad_id(), p.unk_id(), p.bos_id(), p.eos_id()};
}

} // namespace

extern "C" {

hd_status hd_spm_train(const hd_spm_plan *plan, hd_spm_next *next, void *lines, hd_spm_take *take, void *file,
                       size_t *needed, hd_err *err)
{
    *needed = 0;
    return guard(err, [&] {
        be_quiet();
        const std::unordered_map<std::string, std::string> options = {
            {"model_type", plan->unigram ? "unigram" : "bpe"},
            {"vocab_size", std::to_string(plan->vocab)},
            {"hard_vocab_limit", "false"},
            {"byte_fallback", "true"},
            {"character_coverage", text_of(plan->coverage)},
            {"pad_id", std::to_string(plan->pad)},
            {"unk_id", std::to_string(plan->unk)},
            {"bos_id", std::to_string(plan->start)},
            {"eos_id", std::to_string(plan->end)},
            {"num_threads", kThreads},
            {"minloglevel", "3"},
        };
        Lines source(next, lines);
        std::string model;
        const Status status = SentencePieceTrainer::Train(options, &source, &model);
        if (!status.ok()) {
            *needed = needed_by(status.message());
            return fail(err, HD_EARG, status);
        }
        return take(file, model.data(), model.size()) ? HD_OK : hd_err_nomem(err, model.size());
    });
}

hd_status hd_spm_open(hd_spm **out, const void *bytes, size_t size, hd_err *err)
{
    void *place = hd_mem_new(sizeof(hd_spm));
    if (!place) return hd_err_nomem(err, sizeof(hd_spm));
    hd_spm *m = nullptr;
    const hd_status s = guard(err, [&] {
        be_quiet();
        m = new (place) hd_spm;
        const Status status = m->processor.LoadFromSerializedProto({static_cast<const char *>(bytes), size});
        if (!status.ok()) return fail(err, HD_EFORMAT, status);
        keep_pieces(m);
        return HD_OK;
    });
    if (!s)
        *out = m;
    else if (m)
        hd_spm_free(m);
    else
        hd_mem_free(place);
    return s;
}

void hd_spm_free(hd_spm *m)
{
    if (!m) return;
    m->~hd_spm();
    hd_mem_free(m);
}

int hd_spm_size(const hd_spm *m)
{
    return static_cast<int>(m->piece.size());
}

hd_spm_special hd_spm_specials(const hd_spm *m)
{
    return m->special;
}

const char *hd_spm_piece(const hd_spm *m, int id)
{
    return id < 0 || id >= hd_spm_size(m) ? nullptr : m->piece[static_cast<size_t>(id)];
}

int hd_spm_id(const hd_spm *m, const char *piece)
{
    int id = -1;
    guard(nullptr, [&] {
        id = m->processor.PieceToId(piece);
        // it answers <unk> for what it does not know
        if (id >= 0 && m->processor.IdToPiece(id) != piece) id = -1;
        return HD_OK;
    });
    return id;
}

hd_status hd_spm_encode(const hd_spm *m, const char *text, size_t size, hd_spm_put *put, void *to,
                        hd_err *err)
{
    return guard(err, [&] {
        sentencepiece::ImmutableSentencePieceText pieces;
        const Status status = m->processor.Encode({text, size}, pieces.mutable_proto());
        if (!status.ok()) return fail(err, HD_EFORMAT, status);
        const size_t count = pieces.pieces_size();
        for (size_t i = 0; i < count; i++) {
            const auto piece = pieces.pieces(static_cast<int>(i));
            const std::string &whole = piece.piece();
            const hd_spm_piece_of p = {static_cast<int>(piece.id()), piece.begin(), piece.end(), whole.data(),
                                       whole.size()};
            if (!put(to, &p)) return hd_err_nomem(err, 0);
        }
        return HD_OK;
    });
}

hd_status hd_spm_decode(const hd_spm *m, const int32_t *ids, size_t count, hd_spm_take *take, void *to,
                        hd_err *err)
{
    return guard(err, [&] {
        std::string text;
        const Status status = m->processor.Decode(std::vector<int>(ids, ids + count), &text);
        if (!status.ok()) return fail(err, HD_EFORMAT, status);
        return take(to, text.data(), text.size()) ? HD_OK : hd_err_nomem(err, text.size());
    });
}

} // extern "C"

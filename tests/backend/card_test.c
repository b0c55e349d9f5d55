/* Cards of a CUDA runtime that is not there: the linker gives the library the functions below in place of the
   runtime's own (--wrap), and cuBLASLt is fake_cublaslt.c. So what heed says of old cards, of missing
   libraries, and on which card it takes memory is tested without any. Nothing is computed. */
#include "check.h"

#include <unistd.h>

#include "base/log.h"

#if HEED_CUDA
#include "api/subject.h"
#include "outcome.h"
#include <cuda.h>
#include <cuda_runtime_api.h>

enum { MOST_CARDS = 2 };

static struct {
    int cards, major[MOST_CARDS], minor[MOST_CARDS];
    int current;
    bool active[MOST_CARDS]; /* its context was made */
    int wrong;               /* calls while another than `expected` was current */
    int expected;            /* -1: any */
    int allocations[MOST_CARDS];
} fake;

static void fake_cards(int cards, int first, int second)
{
    memset(&fake, 0, sizeof fake);
    fake.cards = cards, fake.expected = -1;
    fake.major[0] = first / 10, fake.minor[0] = first % 10;
    fake.major[1] = second / 10, fake.minor[1] = second % 10;
}

static void use_card(void)
{
    fake.active[fake.current] = true;
    if (fake.expected >= 0 && fake.current != fake.expected) fake.wrong++;
}

/* -- the runtime -- */

cudaError_t __wrap_cudaGetDeviceCount(int *count)
{
    *count = fake.cards;
    return fake.cards ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t __wrap_cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t __wrap_cudaGetLastError(void)
{
    return cudaSuccess;
}
cudaError_t __wrap_cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Toy %d", device);
    p->major = fake.major[device], p->minor = fake.minor[device];
    p->multiProcessorCount = 4, p->totalGlobalMem = (size_t)1 << 30;
    return cudaSuccess;
}
cudaError_t __wrap_cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int device)
{
    return __wrap_cudaGetDeviceProperties(p, device);
}
cudaError_t __wrap_cudaGetDevice(int *device)
{
    *device = fake.current;
    return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int device)
{
    fake.current = device, fake.active[device] = true;
    return cudaSuccess;
}
static CUresult state_of(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0, *active = fake.active[device];
    return CUDA_SUCCESS;
}
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char *symbol, void **f, unsigned version,
                                                    unsigned long long flags, void *result)
{
    (void)version, (void)flags, (void)result;
    assert_string_equal(symbol, "cuDevicePrimaryCtxGetState");
    *f = (void *)state_of;
    return cudaSuccess;
}
cudaError_t __wrap_cudaMemGetInfo(size_t *left, size_t *all)
{
    use_card();
    *left = *all = (size_t)1 << 30;
    return cudaSuccess;
}
cudaError_t __wrap_cudaMalloc(void **block, size_t bytes)
{
    use_card();
    fake.allocations[fake.current]++;
    *block = malloc(bytes);
    return cudaSuccess;
}
cudaError_t __wrap_cudaFree(void *block)
{
    use_card();
    free(block);
    return cudaSuccess;
}
cudaError_t __wrap_cudaHostAlloc(void **block, size_t bytes, unsigned flags)
{
    (void)flags;
    use_card();
    *block = malloc(bytes);
    return cudaSuccess;
}
cudaError_t __wrap_cudaFreeHost(void *block)
{
    free(block);
    return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    use_card();
    *stream = (cudaStream_t)&fake;
    return cudaSuccess;
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    use_card();
    return cudaSuccess;
}
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    use_card();
    return cudaSuccess;
}
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    (void)kind, (void)stream;
    use_card();
    memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t __wrap_cudaMemsetAsync(void *block, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    use_card();
    memset(block, value, bytes);
    return cudaSuccess;
}

/* -- what heed says -- */

typedef struct heard {
    int count;
    char text[1024];
} heard;

static void hear(void *context, hd_level level, const char *text)
{
    heard *h = context;
    assert_int_equal(level, HD_WARN);
    h->count++;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
}

/* What `auto` opens, and what it tells. */
static const char *opens(heard *h)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    *h = (heard){0};
    hd_log log = {hear, h, HD_WARN};
    if (hd_backend_new(&b, "auto", &(hd_backend_opt){.threads = 1, .log = &log}, &err))
        fail_msg("%s", err.text);
    const char *name = b->name;
    hd_backend_free(b);
    return name;
}

static hd_err refused(void)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    assert_int_equal(hd_backend_new(&b, "cuda", NULL, &err), HD_EMISSING);
    return err;
}

static void without_cards_auto_is_silent(void **state)
{
    (void)state;
    heard h;
    fake_cards(0, 0, 0);
    assert_string_equal(opens(&h), "cpu");
    assert_int_equal(h.count, 0);
    hd_err err = refused();
    assert_says(err.text, "no CUDA device was found");
}

static void a_card_that_is_too_old_is_named_with_its_capability(void **state)
{
    (void)state;
    heard h;
    fake_cards(1, 75, 0);
    hd_err err = refused();
    assert_says(err.text, "the card has 7.5");
    assert_says(err.text, "and newer");
    assert_says(err.text, "--device cpu");
    assert_string_equal(opens(&h), "cpu");
    assert_int_equal(h.count, 1);
    assert_says(h.text, "Toy 0");
    assert_says(h.text, "7.5");
    assert_false(fake.active[0]);
}

static void a_missing_library_is_named_and_auto_says_so(void **state)
{
    (void)state;
    heard h;
    fake_cards(2, 120, 120);
    setenv("HEED_CUDA_LIBRARIES", "/heed/no/such/folder", 1);
    hd_err err = refused();
    assert_says(err.text, "cuBLASLt");
    assert_says(err.text, "/heed/no/such/folder/libcublasLt.so.");
    assert_says(err.text, "install libcublas-");
    assert_says(err.text, "--device cpu");
    assert_string_equal(opens(&h), "cpu");
    assert_int_equal(h.count, 1); /* once, though there are two cards */
    assert_says(h.text, "cuda 0 (Toy 0) is not used: cuBLASLt");
    assert_says(h.text, "or give --device cpu");
    setenv("HEED_CUDA_LIBRARIES", HEED_FAKE, 1);
    assert_string_equal(opens(&h), "cuda");
    assert_int_equal(h.count, 0);
}

static void hear_library(void *user, heed_level level, const char *text)
{
    if (level == HEED_LOG_WARN) hear(user, HD_WARN, text);
}

/* A program around the library: what auto left aside is for the log of each context. */
static void a_context_hears_what_auto_left_aside(void **state)
{
    heed_model_options o;
    heed_context_options c;
    heed_error error;
    heed_model *model = NULL;
    heed_context *context = NULL;
    heard h = {0};
    const subject *s = *state;
    fake_cards(1, 75, 0);
    heed_model_options_init(&o, sizeof o);
    heed_context_options_init(&c, sizeof c);
    o.device = "auto";
    c.threads = 1, c.log = hear_library, c.log_user = &h;
    if (heed_model_open(&model, s->folder, &o, &error)) fail_msg("%s", error.text);
    if (heed_context_new(&context, model, &c, &error)) fail_msg("%s", error.text);
    assert_int_equal(h.count, 1);
    assert_says(h.text, "the card has 7.5");
    heed_context_free(context);
    heed_model_free(model);
}

static void take(void *context, const hd_device *d)
{
    hd_device *first = context;
    if (!strcmp(d->backend, "cuda") && !d->number) *first = *d;
}

static hd_device listed(int capability)
{
    hd_device d = {0};
    fake_cards(1, capability, 0);
    hd_backend_list(take, &d);
    assert_int_equal(10 * d.major + d.minor, capability);
    return d;
}

/* HEED_CUDA_ARCHS is "80 90" unless the build was asked for others. */
static void what_the_build_has_for_a_card_is_listed(void **state)
{
    (void)state;
    static const int capabilities[] = {75, 80, 86, 89, 90, 100, 120};
    const char *all = HEED_CUDA_ARCHS;
    int oldest = atoi(all);
    for (size_t i = 0; i < COUNT_OF(capabilities); i++) {
        int capability = capabilities[i], code = 0;
        char want[64] = "none";
        for (const char *at = all; at; at = strchr(at, ' '), at = at ? at + 1 : NULL)
            if (atoi(at) / 10 == capability / 10 && atoi(at) <= capability) code = atoi(at);
        if (code)
            snprintf(want, sizeof want, "for %d.%d%s", code / 10, code % 10,
                     capability == 90 ? " with warpgroups" : "");
        else if (capability > oldest)
            snprintf(want, sizeof want, "compiled at first use, from those for %d.%d", oldest / 10,
                     oldest % 10);
        hd_device d = listed(capability);
        assert_string_equal(d.kernels, want);
        if ((capability >= oldest) != !d.why[0]) fail_msg("%d: %s", capability, d.why);
    }
}

/* Of the cards that a plain build is for each is spelled out. */
static void a_plain_build_serves_cards_from_8_0_on(void **state)
{
    (void)state;
    if (strcmp(HEED_CUDA_ARCHS, "80 90")) leave_out("this build is for " HEED_CUDA_ARCHS);
    assert_string_equal(listed(80).kernels, "for 8.0");
    assert_string_equal(listed(89).kernels, "for 8.0");
    assert_string_equal(listed(90).kernels, "for 9.0 with warpgroups");
    assert_string_equal(listed(120).kernels, "compiled at first use, from those for 8.0");
    assert_string_equal(listed(75).kernels, "none");
}

/* -- which card is current -- */

/* Every call to the runtime finds card `ours` current, and this thread is on `theirs` again after each. */
static void assert_stays_on_its_card(int ours, int theirs)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    char x[64] = "heed", y[64] = "";
    fake.expected = ours;
    assert_int_equal(hd_backend_new(&b, "cuda", NULL, &err), HD_OK);
    assert_int_equal(fake.current, theirs);
    char *block = b->alloc(b, sizeof x), *other = b->alloc(b, sizeof x), *large = b->alloc(b, 300u << 20);
    assert_int_equal(fake.current, theirs);
    b->upload(b, block, x, sizeof x);
    b->copy(b, other, block, sizeof x);
    b->download(b, y, other, sizeof y);
    b->clear(b, block, sizeof x);
    assert_int_equal(fake.current, theirs);
    assert_string_equal(y, "heed");
    b->release(b, block, sizeof x);
    b->release(b, other, sizeof x);
    b->release(b, large, 300u << 20);
    assert_string_equal(b->error, "");
    hd_backend_free(b);
    assert_int_equal(fake.current, theirs);
    assert_int_equal(fake.wrong, 0);
    assert_int_equal(fake.allocations[!ours], 0);
    assert_true(fake.allocations[ours] > 0);
}

static void a_thread_on_another_card_stays_there(void **state)
{
    (void)state;
    fake_cards(2, 120, 120);
    fake.current = 1, fake.active[1] = true;
    assert_stays_on_its_card(0, 1);
    fake_cards(2, 75, 120); /* card 0 is too old: heed takes card 1 */
    fake.active[0] = true;
    assert_stays_on_its_card(1, 0);
}

/* Going back to card 0, which this thread has not asked for, would begin to use it. */
static void no_card_is_begun_only_to_go_back_to_it(void **state)
{
    (void)state;
    fake_cards(2, 75, 120);
    assert_stays_on_its_card(1, 1);
    assert_false(fake.active[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_cards_auto_is_silent),
        cmocka_unit_test(a_card_that_is_too_old_is_named_with_its_capability),
        cmocka_unit_test(a_missing_library_is_named_and_auto_says_so),
        cmocka_unit_test_setup_teardown(a_context_hears_what_auto_left_aside, open_subject, close_subject),
        cmocka_unit_test(what_the_build_has_for_a_card_is_listed),
        cmocka_unit_test(a_plain_build_serves_cards_from_8_0_on),
        cmocka_unit_test(a_thread_on_another_card_stays_there),
        cmocka_unit_test(no_card_is_begun_only_to_go_back_to_it),
    };
    setenv("HEED_CUDA_LIBRARIES", HEED_FAKE, 1);
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
#else
int main(void)
{
    printf("skipped: this build is without CUDA\n");
    return 77;
}
#endif

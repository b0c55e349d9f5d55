/* Matrix products: cuBLASLt with bias and activation in its epilogue where it has them, the rest in a second
   pass. cuBLASLt counts by columns: row-major y = a b is its y^T = b^T a^T, so a and b change places.
   Operands are both bf16 or both f32; sums are always f32. What the heuristic chose for a shape is kept. */
#include "backend/cuda/gemm.h"

#include <cublasLt.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/few.h"
#include "backend/cuda/library.h"

#define BLAS_LIST(X)                        \
    X(cublasLtCreate)                       \
    X(cublasLtDestroy)                      \
    X(cublasLtGetStatusString)              \
    X(cublasLtMatmul)                       \
    X(cublasLtMatmulAlgoGetHeuristic)       \
    X(cublasLtMatmulDescCreate)             \
    X(cublasLtMatmulDescDestroy)            \
    X(cublasLtMatmulDescSetAttribute)       \
    X(cublasLtMatmulPreferenceCreate)       \
    X(cublasLtMatmulPreferenceDestroy)      \
    X(cublasLtMatmulPreferenceSetAttribute) \
    X(cublasLtMatrixLayoutCreate)           \
    X(cublasLtMatrixLayoutDestroy)          \
    X(cublasLtMatrixLayoutSetAttribute)

typedef struct blas {
    BLAS_LIST(HD_LIBRARY_MEMBER)
} blas;

enum { WORKSPACE = 64 << 20, KEPT = 1024 };

typedef struct problem { /* all that the choice of an algorithm depends on; no padding: compared by bytes */
    int64_t m, n, k, lda, ldb, ldy, ldaux, a_step, b_step, y_step;
    int32_t a_transposed, b_transposed, small, small_y, add, epilogue, unaligned, count;
} problem;

typedef struct plan {
    problem p;
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t algo;
    bool ready;
} plan;

struct hd_cuda_gemm {
    blas fn;
    cublasLtHandle_t lt;
    void *workspace;
    plan plan[KEPT];
    size_t count;
};

static hd_status load(blas *to, hd_err *err)
{
    static const char *const names[] = {BLAS_LIST(HD_LIBRARY_NAME) NULL};
    char file[32], package[32];
    snprintf(file, sizeof file, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    snprintf(package, sizeof package, "libcublas-%d-%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return hd_cuda_library(to, "cuBLASLt", file, package, names, err);
}

hd_status hd_cuda_gemm_missing(hd_err *err)
{
    blas fn;
    return load(&fn, err);
}

hd_status hd_cuda_gemm_new(struct hd_cuda_gemm **out, hd_err *err)
{
    struct hd_cuda_gemm *g = (struct hd_cuda_gemm *)hd_mem_zero(sizeof *g);
    if (!g) return hd_err_nomem(err, sizeof *g);
    *out = g;
    hd_status missing = load(&g->fn, err);
    if (missing) return missing;
    cublasStatus_t s = g->fn.cublasLtCreate(&g->lt);
    if (s != CUBLAS_STATUS_SUCCESS)
        return hd_err_set(err, HD_EDEVICE, "cuBLASLt: %s", g->fn.cublasLtGetStatusString(s));
    if (cudaMalloc(&g->workspace, WORKSPACE) != cudaSuccess)
        return hd_err_set(err, HD_ENOMEM, "cuBLASLt: no room for its workspace of %d MiB", WORKSPACE >> 20);
    return HD_OK;
}

static void plan_release(const blas *fn, plan *p)
{
    if (p->how) fn->cublasLtMatmulDescDestroy(p->how);
    if (p->a) fn->cublasLtMatrixLayoutDestroy(p->a);
    if (p->b) fn->cublasLtMatrixLayoutDestroy(p->b);
    if (p->y) fn->cublasLtMatrixLayoutDestroy(p->y);
    memset(p, 0, sizeof *p);
}

void hd_cuda_gemm_free(struct hd_cuda_gemm *g)
{
    if (!g) return;
    for (size_t i = 0; i < KEPT; i++) plan_release(&g->fn, &g->plan[i]);
    if (g->workspace) cudaFree(g->workspace);
    if (g->lt) g->fn.cublasLtDestroy(g->lt);
    hd_mem_free(g);
}

static cudaDataType_t type_of(bool small)
{
    return small ? CUDA_R_16BF : CUDA_R_32F;
}

#define TRY(call)                                   \
    do {                                            \
        cublasStatus_t s_ = (call);                 \
        if (s_ != CUBLAS_STATUS_SUCCESS) return s_; \
    } while (0)

/* Tells of `count` matrices, each `step` numbers behind the one before. */
static cublasStatus_t repeat(const blas *fn, cublasLtMatrixLayout_t to, int32_t count, int64_t step)
{
    TRY(fn->cublasLtMatrixLayoutSetAttribute(to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    return fn->cublasLtMatrixLayoutSetAttribute(to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                                sizeof step);
}

static cublasStatus_t describe(const blas *fn, plan *l)
{
    const problem *p = &l->p;
    /* their a is our b: [k,n] by rows is n x k by columns */
    cublasOperation_t ta = p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      tb = p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)p->epilogue;
    TRY(fn->cublasLtMatmulDescCreate(&l->how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    TRY(fn->cublasLtMatmulDescSetAttribute(l->how, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
    TRY(fn->cublasLtMatmulDescSetAttribute(l->how, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
    TRY(fn->cublasLtMatmulDescSetAttribute(l->how, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                           sizeof epilogue));
    if (p->ldaux)
        TRY(fn->cublasLtMatmulDescSetAttribute(l->how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &p->ldaux,
                                               sizeof p->ldaux));
    TRY(fn->cublasLtMatrixLayoutCreate(&l->a, type_of(p->small), p->b_transposed ? p->k : p->n,
                                       p->b_transposed ? p->n : p->k, p->ldb));
    TRY(fn->cublasLtMatrixLayoutCreate(&l->b, type_of(p->small), p->a_transposed ? p->m : p->k,
                                       p->a_transposed ? p->k : p->m, p->lda));
    TRY(fn->cublasLtMatrixLayoutCreate(&l->y, type_of(p->small_y), p->n, p->m, p->ldy));
    if (p->count < 2) return CUBLAS_STATUS_SUCCESS;
    TRY(repeat(fn, l->a, p->count, p->b_step));
    TRY(repeat(fn, l->b, p->count, p->a_step));
    return repeat(fn, l->y, p->count, p->y_step);
}

static cublasStatus_t choose(struct hd_cuda_gemm *g, plan *l)
{
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    size_t room = WORKSPACE;
    const blas *fn = &g->fn;
    TRY(fn->cublasLtMatmulPreferenceCreate(&wish));
    fn->cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                             sizeof room);
    uint32_t align = 16;
    const cublasLtMatmulPreferenceAttributes_t of[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (int i = 0; i < 4; i++) {
        if (l->p.unaligned && i < 2) align = l->p.small ? 2 : 4;
        if (l->p.unaligned && i >= 2) align = l->p.small_y ? 2 : 4;
        fn->cublasLtMatmulPreferenceSetAttribute(wish, of[i], &align, sizeof align);
    }
    cublasStatus_t s =
        fn->cublasLtMatmulAlgoGetHeuristic(g->lt, l->how, l->a, l->b, l->y, l->y, wish, 1, &found, &count);
    fn->cublasLtMatmulPreferenceDestroy(wish);
    if (s == CUBLAS_STATUS_SUCCESS && !count) s = CUBLAS_STATUS_NOT_SUPPORTED;
    if (s == CUBLAS_STATUS_SUCCESS) l->algo = found.algo;
    return s;
}

static uint64_t hash_of(const problem *p)
{
    const unsigned char *byte = (const unsigned char *)p;
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *p; i++) h = (h ^ byte[i]) * 1099511628211u;
    return h;
}

static cublasStatus_t plan_for(struct hd_cuda_gemm *g, const problem *p, plan **out)
{
    if (g->count > KEPT / 2) { /* ever new shapes: begin anew rather than grow */
        for (size_t i = 0; i < KEPT; i++) plan_release(&g->fn, &g->plan[i]);
        g->count = 0;
    }
    size_t i = hash_of(p) % KEPT;
    while (g->plan[i].ready && memcmp(&g->plan[i].p, p, sizeof *p)) i = (i + 1) % KEPT;
    *out = &g->plan[i];
    if (g->plan[i].ready) return CUBLAS_STATUS_SUCCESS;
    g->plan[i].p = *p;
    cublasStatus_t s = describe(&g->fn, *out);
    if (s == CUBLAS_STATUS_SUCCESS) s = choose(g, *out);
    if (s != CUBLAS_STATUS_SUCCESS)
        plan_release(&g->fn, *out);
    else
        g->plan[i].ready = true, g->count++;
    return s;
}

/* -- operands -- */

static __global__ void pack(bf16 *to, mat from)
{
    for (size_t r = blockIdx.x; r < (size_t)from.rows; r += gridDim.x)
        for (int c = (int)threadIdx.x; c < from.cols; c += (int)blockDim.x)
            to[r * (size_t)from.cols + c] = __float2bfloat16(mat_get(from, r, (size_t)c));
}

typedef struct operand {
    const void *data;
    size_t stride;
} operand;

/* t as bf16: as it is, its shadow, or a copy at `room`. */
static operand small_operand(hd_cuda *c, const hd_tensor *t, bf16 *room)
{
    if (t->dtype == HD_BF16) return (operand){t->data, t->stride};
    if (t->prepared) return (operand){t->prepared, t->stride};
    mat m = mat_of(t);
    unsigned blocks = m.rows < 4096 ? (unsigned)m.rows : 4096;
    pack<<<blocks, 256, 0, c->stream>>>(room, m);
    return (operand){room, hd_cols_of(t)};
}

static size_t copy_bytes(const hd_tensor *t)
{
    if (t->dtype == HD_BF16 || t->prepared) return 0;
    return (hd_count_of(t) * sizeof(bf16) + 255) / 256 * 256;
}

static bool aligned(const void *p, size_t stride, bool small)
{
    return (uintptr_t)p % 16 == 0 && stride * (small ? 2 : 4) % 16 == 0;
}

/* -- the kernel -- */

typedef struct ending { /* what the epilogue does, and what is left for a second pass */
    cublasLtEpilogue_t epilogue;
    const void *bias;
    bool bias_later, act_later;
} ending;

static ending ending_of(const hd_gemm_args *g, bool small_y)
{
    ending e = {CUBLASLT_EPILOGUE_DEFAULT, NULL, false, g->act != HD_IDENTITY};
    if (g->bias) {
        e.bias = small_y ? (g->bias->dtype == HD_BF16 ? g->bias->data : g->bias->prepared)
                         : (g->bias->dtype == HD_F32 ? g->bias->data : NULL);
        if ((uintptr_t)e.bias % 16) e.bias = NULL;
        e.bias_later = !e.bias;
        if (e.bias) e.epilogue = CUBLASLT_EPILOGUE_BIAS;
    }
    if (g->act == HD_relu && !g->before && !e.bias_later && !g->add) {
        e.epilogue = e.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
        e.act_later = false;
    }
    return e;
}

static hd_status second_pass(hd_cuda *c, const hd_gemm_args *g, const ending *e)
{
    hd_backend *b = &c->base;
    hd_status s = HD_OK;
    const hd_tensor *z = g->before && g->act != HD_IDENTITY ? g->before : g->y;
    if (e->bias_later) {
        hd_mix_args a = {};
        a.y = z, a.x = z, a.z = g->bias, a.a = 1, a.b = 1;
        s = hd_cuda_mix(b, &a);
    }
    if (!s && e->act_later) {
        hd_unary_args a = {};
        a.y = g->y, a.x = z, a.f = g->act;
        s = hd_cuda_unary(b, &a);
    }
    if (!s && g->draw.p > 0) {
        hd_dropout_args a = {};
        a.y = a.x = g->y, a.draw = g->draw;
        s = hd_cuda_dropout(b, &a);
    }
    return s;
}

/* Few rows with a weight of bf16 and no more than few.cu can do. */
static bool few(hd_cuda *c, const hd_gemm_args *g, const operand *a, const operand *b, size_t k)
{
    if (hd_rows_of(g->y) > FEW_ROWS || !g->b_transposed || g->a_transposed || g->add || g->draw.p > 0 ||
        (g->before && g->act != HD_IDENTITY))
        return false;
    few_of p = {};
    p.y = mat_of(g->y), p.bias = mat_of(g->bias), p.act = g->act;
    p.a = (const bf16 *)a->data, p.b = (const bf16 *)b->data, p.a_stride = a->stride, p.b_stride = b->stride;
    p.m = p.y.rows, p.n = p.y.cols, p.k = (int)k, p.count = 1;
    if (g->count > 1)
        p.count = (int)g->count, p.y_step = g->y_step, p.a_step = g->a_step, p.b_step = g->b_step;
    return hd_cuda_few(c, &p);
}

static hd_tensor moved(const hd_tensor *t, size_t by)
{
    hd_tensor m = *t;
    m.data = (char *)t->data + by * hd_dtype_bytes(t->dtype);
    if (t->prepared) m.prepared = (bf16 *)t->prepared + by;
    return m;
}

/* Several products with operands that have to be copied first: rare, for weights have their shadows. */
static hd_status one_by_one(hd_backend *b, const hd_gemm_args *g)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < g->count; i++) {
        hd_tensor y = moved(g->y, i * g->y_step), x = moved(g->a, i * g->a_step),
                  z = moved(g->b, i * g->b_step);
        hd_gemm_args one = *g;
        one.y = &y, one.a = &x, one.b = &z, one.count = 0, one.y_step = one.a_step = one.b_step = 0;
        s = hd_cuda_gemm(b, &one);
    }
    return s;
}

extern "C" hd_status hd_cuda_gemm(hd_backend *backend, const hd_gemm_args *g)
{
    hd_cuda *c = (hd_cuda *)backend;
    bool keeps = g->before && g->act != HD_IDENTITY;
    const hd_tensor *y = keeps ? g->before : g->y;
    size_t m = hd_rows_of(g->y), n = hd_cols_of(g->y),
           k = g->a_transposed ? hd_rows_of(g->a) : hd_cols_of(g->a);
    if (!m || !n) return HD_OK;
    bool small = g->a->dtype == HD_BF16 || g->b->dtype == HD_BF16, small_y = y->dtype == HD_BF16;
    if (backend->compute == HD_BF16 && small_y) small = true;
    operand a = {g->a->data, g->a->stride}, b = {g->b->data, g->b->stride};
    if (small && g->count > 1 && (copy_bytes(g->a) || copy_bytes(g->b))) return one_by_one(backend, g);
    if (small) {
        size_t first = copy_bytes(g->a), both = first + copy_bytes(g->b);
        char *room = both ? (char *)hd_cuda_scratch(c, both) : NULL;
        if (both && !room) return HD_ENOMEM;
        a = small_operand(c, g->a, (bf16 *)room);
        b = small_operand(c, g->b, (bf16 *)(room + first));
    }
    if (small && few(c, g, &a, &b, k)) return hd_cuda_done(c, "gemm");
    ending e = ending_of(g, small_y);
    problem p;
    memset(&p, 0, sizeof p);
    p.m = (int64_t)m, p.n = (int64_t)n, p.k = (int64_t)k;
    p.lda = (int64_t)a.stride, p.ldb = (int64_t)b.stride, p.ldy = (int64_t)y->stride;
    p.a_transposed = g->a_transposed, p.b_transposed = g->b_transposed;
    if (g->count > 1)
        p.count = (int32_t)g->count, p.y_step = (int64_t)g->y_step, p.a_step = (int64_t)g->a_step,
        p.b_step = (int64_t)g->b_step;
    p.small = small, p.small_y = small_y, p.add = g->add, p.epilogue = e.epilogue;
    p.unaligned = !aligned(a.data, a.stride, small) || !aligned(b.data, b.stride, small) ||
                  !aligned(y->data, y->stride, small_y) || !aligned(NULL, g->a_step, small) ||
                  !aligned(NULL, g->b_step, small) || !aligned(NULL, g->y_step, small_y);
    plan *l;
    cublasStatus_t s = plan_for(c->gemm, &p, &l);
    float alpha = 1, beta = g->add ? 1 : 0;
    if (s == CUBLAS_STATUS_SUCCESS && e.bias)
        s = c->gemm->fn.cublasLtMatmulDescSetAttribute(l->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &e.bias,
                                                       sizeof e.bias);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = c->gemm->fn.cublasLtMatmul(c->gemm->lt, l->how, &alpha, b.data, l->a, a.data, l->b, &beta,
                                       y->data, l->y, y->data, l->y, &l->algo, c->gemm->workspace, WORKSPACE,
                                       c->stream);
    if (s != CUBLAS_STATUS_SUCCESS) return hd_cuda_fail(c, "gemm", c->gemm->fn.cublasLtGetStatusString(s));
    if (e.bias_later || e.act_later || g->draw.p > 0) {
        hd_status second = second_pass(c, g, &e);
        if (second) return second;
    }
    return hd_cuda_done(c, "gemm");
}

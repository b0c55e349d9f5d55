/* A cuBLASLt that can be loaded and does nothing, for card_test.c: every function it is asked for succeeds.
 */
int cublasLtCreate(void **handle);
int cublasLtCreate(void **handle)
{
    static int one;
    *handle = &one;
    return 0;
}

#define X(name)     \
    int name(void); \
    int name(void)  \
    {               \
        return 0;   \
    }
X(cublasLtDestroy)
X(cublasLtGetStatusString)
X(cublasLtMatmul)
X(cublasLtMatmulAlgoGetHeuristic)
X(cublasLtMatmulDescCreate)
X(cublasLtMatmulDescDestroy)
X(cublasLtMatmulDescSetAttribute)
X(cublasLtMatmulPreferenceCreate)
X(cublasLtMatmulPreferenceDestroy)
X(cublasLtMatmulPreferenceSetAttribute)
X(cublasLtMatrixLayoutCreate)
X(cublasLtMatrixLayoutDestroy)
X(cublasLtMatrixLayoutSetAttribute)

/* All models: a model is a line here and a file that defines hd_model_NAME. */
#ifndef HD_MODEL_LIST_H
#define HD_MODEL_LIST_H

/* X(name, what it is): language models */
#define HD_LM_LIST(X)                                                                  \
    X(ngram, "counts of tokens in a row, smoothed")                                    \
    X(maxent, "a weight for every hashed context and next token, then softmax")        \
    X(ffnn, "a feed-forward network over a window of the last tokens")                 \
    X(rnn, "a simple recurrent network")                                               \
    X(gru, "gated recurrent units")                                                    \
    X(lstm, "long short-term memory")                                                  \
    X(gpt, "the Transformer's decoder alone")                                          \
    X(llama, "the same with rotary positions, RMS norms and gates: Llama and its kin") \
    X(moe, "a llama whose blocks have experts, of which each token uses some")         \
    X(deepseek, "a moe whose heads share one short vector of keys and values: latent attention")

/* X(name, what it is): encoders of pictures */
#define HD_IMAGE_MODEL_LIST(X)                                                             \
    X(vit, "a Vision Transformer: patches of a picture through the Transformer's encoder") \
    X(resnet, "convolutions in blocks with a shortcut past each: a ResNet")

/* X(name, what it is): all */
#define HD_MODEL_LIST(X)                                                              \
    X(encdec, "an encoder and a decoder: recurrent, a Transformer, or mixed")         \
    X(bert, "the Transformer's encoder alone, which fills in what is masked")         \
    X(encoder, "stages of recurrent layers and Transformer blocks, for classifiers")  \
    X(classifier, "a layer that gives labels or numbers, on a model that has rows")   \
    X(detr, "queries that find the objects of a picture: the Detection Transformer")  \
    X(reader, "LSTM layers over the points of a pen that say characters, by CTC")     \
    X(handwriting, "LSTM layers that write with a pen, and a window over characters") \
    X(pen_gpt, "the Transformer's decoder over characters and points of a pen")       \
    HD_IMAGE_MODEL_LIST(X)                                                            \
    HD_LM_LIST(X)

#endif

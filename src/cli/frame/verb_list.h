/* The verbs, in the order help shows them: X(name, summary). A verb is one file that defines the hd_usage
   hd_verb_NAME (see verb.h). */
#ifndef HD_CLI_FRAME_VERB_LIST_H
#define HD_CLI_FRAME_VERB_LIST_H

#define HD_VERB_LIST(X)                                                             \
    X(explain, "show how a model computes its output, number by number")            \
    X(train, "train a model of text, pictures, speech, handwriting or music")       \
    X(translate, "translate text")                                                  \
    X(shortlist, "list which tokens are translated by which, for fast translation") \
    X(rank, "sort translations or texts by their probability under a model")        \
    X(embed, "turn lines into vectors")                                             \
    X(generate, "generate text or music with a language model")                     \
    X(chat, "talk with a language model at the terminal")                           \
    X(fill, "predict masked words with a masked language model")                    \
    X(perplexity, "measure how well a language model predicts a text")              \
    X(compare, "measure several models on the same data")                           \
    X(heads, "measure what each attention head of a model is worth")                \
    X(plot, "draw the loss curves of training runs")                                \
    X(lab, "run the claims of the lectures on attention, and draw what comes out")  \
    X(classify, "label every line or picture")                                      \
    X(tag, "label every token")                                                     \
    X(caption, "write captions for pictures")                                       \
    X(transcribe, "write down what is said in sounds")                              \
    X(detect, "find the objects in pictures")                                       \
    X(write, "write text by hand: strokes of a pen, as a picture")                  \
    X(read, "read handwriting: strokes of a pen into text")                         \
    X(tokenize, "turn text into tokens, or back")                                   \
    X(import, "make a model from a Hugging Face checkpoint")                        \
    X(export, "write a model as a Hugging Face checkpoint")                         \
    X(merge, "make a model of an adapter and the model that it was learned on")     \
    X(quantise, "write a model with weights of int8, smaller and faster")           \
    X(info, "show what a model folder contains, or the devices")                    \
    X(score, "score translations, captions, transcripts, boxes, labels or answers") \
    X(bench, "time training and decoding on this machine")                          \
    X(corpus, "write a small corpus for training: English-German, or an exercise")  \
    X(shapes, "draw pictures of shapes with classes, boxes and captions")           \
    X(strokes, "make lines of handwriting from stroke fonts")                       \
    X(sums, "write sums for language models to learn, with answers for rewards")    \
    X(serve, "answer requests by HTTP: translations, vectors")                      \
    X(help, "show help for heed or a verb")

#endif

/* The tasks: a line here and a folder in src/task. */
#ifndef HD_RUN_TASK_LIST_H
#define HD_RUN_TASK_LIST_H

/* X(NAME, name, what is learned, what its model is, the verb that reads it, what a line is, whether a start
   and an end are read around it unless the model is `bare`, the key of what the best was chosen by where it
   was not the loss, functions): HD_TRAIN_NAME, --task name, hd_task_name, "task" in config.json, HD_LINE_
   (task/model_folder.h), hd_FUNCTIONS_read and hd_FUNCTIONS_write of its folder */
#define HD_TASK_LIST(X)                                                                                     \
    X(TRANSLATE, translate, "one language into another", "a translator", "translate", text, false, true,    \
      "best_bleu", translator)                                                                              \
    X(LM, lm, "a language model", "a language model", "generate", text, true, false, "best_bleu", language) \
    X(CLASSIFY, classify, "a label for each text or picture", "a classifier", "classify", item, true, true, \
      "best_accuracy", labeler)                                                                             \
    X(TAG, tag, "a label for each token", "a tagger", "tag", words, true, true, "best_accuracy", labeler)   \
    X(MLM, mlm, "a masked language model", "a masked language model", "fill", masks, true, true,            \
      "best_loss", masked)                                                                                  \
    X(REGRESS, regress, "a number for each text", "a model that gives numbers", "classify", item, true,     \
      true, "best_accuracy", labeler)                                                                       \
    X(MULTILABEL, multilabel, "any number of labels for each text", "a classifier", "classify", item, true, \
      true, "best_micro_f1", labeler)                                                                       \
    X(CAPTION, caption, "a caption for each picture", "a captioner", "caption", picture, false, true,       \
      "best_cider", captioner)                                                                              \
    X(DETECT, detect, "the objects in pictures, with their boxes", "a detector", "detect", picture, false,  \
      false, "best_ap50", detector)                                                                         \
    X(TRANSCRIBE, transcribe, "what is said in sounds", "a speech recognizer", "transcribe", sound, false,  \
      true, "best_wer", transcriber)                                                                        \
    X(WRITE, write, "handwriting, from strokes of a pen", "a model of handwriting", "write", text, false,   \
      false, "best_loss", handwriter)                                                                       \
    X(READ, read, "to read handwriting", "a reader of handwriting", "read", text, false, false, "best_cer", \
      stroke_reader)                                                                                        \
    X(REWARD, reward, "a language model, from rewards for what it writes", "a language model", "generate",  \
      text, true, false, "best_loss", language)

#define X(NAME, name, ...) HD_TRAIN_##NAME,
typedef enum hd_train_task { HD_TASK_LIST(X) HD_TRAIN_TASKS } hd_train_task;
#undef X

#endif

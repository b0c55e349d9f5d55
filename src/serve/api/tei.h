/* The interface of text-embeddings-inference (TEI): what its files share. */
#ifndef HD_SERVE_API_TEI_H
#define HD_SERVE_API_TEI_H

#include "serve/api/call.h"

enum { HD_TEI_INPUTS = 2048 }; /* of a request */

/* A member that may be left out is true or false; false: that is answered. */
bool hd_tei_flag(hd_call *c, const char *name, bool otherwise, bool *to);
/* The first model that `does`, or the one that `model` names; NULL: that is answered. */
const hd_served *hd_tei_model(hd_call *c, bool (*does)(const hd_served *m), const char *what);

/* Whether it gives words for masks, and ranks texts. */
bool hd_tei_fills(const hd_served *m);
bool hd_tei_reranks(const hd_served *m);

/* predict.c */
void hd_tei_predict(hd_call *c);
void hd_tei_predicted(hd_call *c);
void hd_tei_rerank(hd_call *c);
void hd_tei_reranked(hd_call *c);

#endif

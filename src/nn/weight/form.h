/* Weights of models that only run: what products read is packed from the file, and nothing but the form stays
   in memory. In files they may be int8: a tensor NAME of whole numbers of 8 bits, always [out, in],
   NAME_scale, f32 [out, 1], and NAME_column_scale, f32 [1, in], what the numbers of each row and of each
   column are multiplied by; tensors of one product have the same columns. NAME_rest, again whole numbers of 8
   bits, are second lines (tensor/int8.h), of all tensors of a product or of none. Where a backend multiplies
   int8, they are packed as they are, elsewhere they become f32. */
#ifndef HD_NN_WEIGHT_FORM_H
#define HD_NN_WEIGHT_FORM_H

#include "nn/param.h"

/* The record that has the storage of one. */
hd_param *hd_param_owner(hd_param *one);

/* -- reading -- */

/* Entry e of a file for one, whose shape and type were checked: values, or, if that is enough, where they
   lie. */
hd_status hd_param_read(hd_params *p, hd_param *one, const hd_safetensors *s, const hd_entry *e, hd_err *err);
/* The same for an entry of int8, which is checked. */
hd_status hd_param_read_int8(hd_params *p, hd_param *one, const hd_safetensors *s, const hd_entry *e,
                             hd_err *err);

/* -- factors of columns -- */

/* Behind the names of tensors of int8. */
#define HD_ROW_SCALE    "_scale"
#define HD_COLUMN_SCALE "_column_scale"
#define HD_SECOND_LINE  "_rest"

/* Makes *out the factors of the columns of an owner (tensor/int8.h), whose values are at `value`: of all
   matrices that it has, since their rows meet the same inputs. Leaves *out where it has none: experts have
   inputs of their own. */
hd_status hd_param_columns(float **out, const hd_param *owner, const hd_real *value, size_t stride,
                           hd_err *err);

/* -- preparing -- */

/* backend.prepare of one, from values or from the file. `evened`: by the factors of its columns, if it
   becomes int8 and has any. */
hd_status hd_param_prepare(hd_params *p, hd_param *one, hd_use use, bool evened, hd_err *err);
/* Gives up the file that some lay in and, unless they are to stay, the values of weights of which only the
   form is read. For inference, once everything is prepared. */
void hd_params_drop(hd_params *p, bool values_stay);

/* -- writing -- */

/* Writes what is read by products alone in int8, token vectors in bf16 and all else in f32. Values are in
   host memory. */
hd_status hd_params_save_int8(const hd_params *p, const char *path, const hd_meta *meta, size_t metas,
                              hd_err *err);

/* -- nn/weight/param_file.c, for these -- */

/* Writes the values of an entry that has the shape of one to dense rows in host memory. */
hd_status hd_param_values(const hd_params *p, const hd_param *one, hd_real *to, const hd_safetensors *s,
                          const hd_entry *e, hd_err *err);
/* As files hold it otherwise: its shape, and its values in that order. */
hd_tensor hd_param_in_file(const hd_param *one);
hd_status hd_param_fetch(const hd_params *p, const hd_param *one, hd_real *to, hd_err *err);

#endif

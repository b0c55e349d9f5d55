/* The lecture's example on the engine's Transformer. Easy to get wrong: the slides write x W with W [in,
   out], the engine keeps [out, in]. */
#include "show/lecture.h"

#include <string.h>

const char *const hd_lecture_words[] = {"<SOS>", "<EOS>", "<PAD>", "am",  "fine",    "how",
                                        "i",     "about", "are",   "you", "yourself"};

const hd_lecture_pair hd_lecture_pairs[] = {{{5, 8, 9}, {6, 3, 4}}, {{6, 3, 4}, {5, 7, 10}}};

const hd_lecture_heading hd_lecture_headings[] = {
#define X(id, part, title, text) {part, title, text},
    HD_LECTURE_SECTION_LIST(X)
#undef X
};

#define ENC "model.encoder.layers.0."
#define DEC "model.decoder.layers.0."

/* clang-format off */
#define ROW(name, at, kind, engine, rows, cols, formula) \
    {name, HD_LECTURE_##at, HD_LECTURE_##kind, engine, HD_LECTURE_##rows, HD_LECTURE_##cols, formula}
#define TABLE(name, at, engine) ROW(name, at, TABLE, engine, WORDS, CHANNELS, "a row for each word")
#define WEIGHT(name, at, engine) ROW(name, at, WEIGHT, engine, CHANNELS, CHANNELS, "weights")
#define BIAS(name, at, engine) ROW(name, at, BIAS, engine, CHANNELS, CHANNELS, "bias")
#define STEP(name, at, engine, rows, formula) ROW(name, at, STEP, engine, rows, CHANNELS, formula)

/* The rows of an attention layer in its three sections, around the masking that only the decoder has.
   Their names begin with `name`, those of parameters with `layer`, those of offers with `scope`; `rows`
   attend to `keys`. */
#define QUERY_KEY_VALUE(name, at, scope, layer, rows, keys, query, key) \
    WEIGHT(name "W_Q", at, layer "q_proj.weight"),                      \
    STEP(name "Q", at, scope "Q", rows, query " . W_Q"),                \
    WEIGHT(name "W_K", at, layer "k_proj.weight"),                      \
    STEP(name "K", at, scope "K", keys, key " . W_K"),                  \
    WEIGHT(name "W_V", at, layer "v_proj.weight"),                      \
    STEP(name "V", at, scope "V", keys, key " . W_V")
#define SCORES(name, at, scope, rows, keys)                             \
    ROW(name "scores", at, STEP, scope "scores", rows, keys, "Q . K^T"), \
    ROW(name "scaled", at, STEP, scope "scaled", rows, keys, "scores / sqrt(6)")
#define SHARES(name, at, scope, rows, keys, of) \
    ROW(name "softmax", at, SHARES, scope "softmax", rows, keys, "softmax(" of ")")
#define GATHER(name, at, scope, layer, rows)                     \
    STEP(name "attn_out", at, scope "attn_out", rows, "softmax . V"), \
    WEIGHT(name "W_O", at, layer "out_proj.weight"),             \
    STEP(name "mha_out", at, scope "mha_out", rows, "attn_out . W_O")

#define ADD_NORM(add, norm, at, scope, rows, formula)                              \
    STEP(add, at, scope ".sum", rows, formula),                                    \
    ROW(add ".mean", at, MEAN, scope ".mean", rows, CHANNELS, "row mean"),         \
    ROW(add ".sd", at, INVERSE_SD, scope ".inverse_sd", rows, CHANNELS, "row SD"), \
    STEP(norm, at, scope ".norm", rows, "(" add " - mean) / SD")

#define FEED_FORWARD(name, hidden, out, layer, rows, input)                               \
    WEIGHT(name ".W1", hidden, layer "fc1.weight"),                                       \
    BIAS(name ".b1", hidden, layer "fc1.bias"),                                           \
    STEP(name ".ffn.hidden", hidden, name ".0.ffn.hidden", rows, input " . W1 + b1"),     \
    STEP(name ".ffn.relu", hidden, name ".0.ffn.relu", rows, "max(0, hidden)"),           \
    WEIGHT(name ".W2", out, layer "fc2.weight"),                                          \
    BIAS(name ".b2", out, layer "fc2.bias"),                                              \
    STEP(name ".ffn.out", out, name ".0.ffn.out", rows, "relu . W2 + b2")

const hd_lecture_matrix hd_lecture_matrices[] = {
    TABLE("enc.embedding_table", EMBED, "model.encoder.embed_tokens.weight"),
    STEP("enc.emb", EMBED, "enc.emb", SOURCE, "rows 5, 8, 9 of the table"),
    ROW("pe", POSITION, SINUSOIDS, "positions", PLACES, CHANNELS, "sin, cos of pos / 10000^(2i/6)"),
    STEP("enc.X", INPUT, "enc.X", SOURCE, "enc.emb + pe"),
    QUERY_KEY_VALUE("enc.", QUERY, "enc.0.self.", ENC "self_attn.", SOURCE, SOURCE, "X", "X"),
    SCORES("enc.", WEIGH, "enc.0.self.", SOURCE, SOURCE),
    SHARES("enc.", WEIGH, "enc.0.self.", SOURCE, SOURCE, "scaled"),
    GATHER("enc.", GATHER, "enc.0.self.", ENC "self_attn.", SOURCE),
    ADD_NORM("enc.add1", "enc.norm1", NORM1, "enc.0.self", SOURCE, "X + mha_out"),
    FEED_FORWARD("enc", HIDDEN, FEED, ENC, SOURCE, "norm1"),
    ADD_NORM("enc.add2", "enc.norm2", NORM2, "enc.0.ffn", SOURCE, "norm1 + ffn.out"),

    TABLE("dec.embedding_table", DEC_INPUT, "model.decoder.embed_tokens.weight"),
    STEP("dec.emb", DEC_INPUT, "dec.emb", TARGET, "rows 0, 6, 3 of the table"),
    STEP("dec.X", DEC_INPUT, "dec.X", TARGET, "dec.emb + pe"),
    QUERY_KEY_VALUE("dec.self.", DEC_QUERY, "dec.0.self.", DEC "self_attn.", TARGET, TARGET, "X", "X"),
    SCORES("dec.self.", DEC_WEIGH, "dec.0.self.", TARGET, TARGET),
    ROW("dec.self.masked", DEC_MASK, STEP, "dec.0.self.masked", TARGET, TARGET, "scaled, -inf ahead"),
    SHARES("dec.self.", DEC_MASK, "dec.0.self.", TARGET, TARGET, "masked"),
    GATHER("dec.self.", DEC_GATHER, "dec.0.self.", DEC "self_attn.", TARGET),
    ADD_NORM("dec.add1", "dec.norm1", DEC_NORM1, "dec.0.self", TARGET, "X + self.mha_out"),
    QUERY_KEY_VALUE("dec.cross.", CROSS_QUERY, "dec.0.cross.", DEC "encoder_attn.", TARGET, SOURCE,
                    "dec.norm1", "enc.norm2"),
    SCORES("dec.cross.", CROSS_WEIGH, "dec.0.cross.", TARGET, SOURCE),
    SHARES("dec.cross.", CROSS_WEIGH, "dec.0.cross.", TARGET, SOURCE, "scaled"),
    GATHER("dec.cross.", CROSS_GATHER, "dec.0.cross.", DEC "encoder_attn.", TARGET),
    ADD_NORM("dec.add2", "dec.norm2", DEC_NORM2, "dec.0.cross", TARGET, "norm1 + cross.mha_out"),
    FEED_FORWARD("dec", DEC_HIDDEN, DEC_FEED, DEC, TARGET, "norm2"),
    ADD_NORM("dec.add3", "dec.norm3", DEC_NORM3, "dec.0.ffn", TARGET, "norm2 + ffn.out"),

    ROW("out.W", OUTPUT, WEIGHT, "lm_head.weight", CHANNELS, WORDS, "weights"),
    ROW("out.b", OUTPUT, BIAS, "final_logits_bias", CHANNELS, WORDS, "bias"),
    ROW("logits", OUTPUT, STEP, "logits", TARGET, WORDS, "dec.norm3 . W + b"),
    ROW("probs", OUTPUT, SHARES, "probs", TARGET, WORDS, "softmax(logits)"),
    {0},
};
/* clang-format on */

/* The weights to eight decimals, as the slides show them: rows are inputs, columns are outputs; matrix after
   matrix, in the order of hd_lecture_matrices. They are the draws of torch.manual_seed(42) in the order in
   which the slides' author built the modules (docs/explain.md). */
/* clang-format off */
static const float lecture_weights[] = {
    /* enc.embedding_table, 11 x 6 */
    1.92691505f,  1.48728418f,  0.90071720f, -2.10552144f,  0.67841846f, -1.23454499f,
   -0.04306748f, -1.60466695f, -0.75213617f,  1.64872289f, -0.39247864f, -1.40360665f,
   -0.72788125f, -0.55942988f, -0.76883894f,  0.76244539f,  1.64231694f, -0.15959732f,
   -0.49739748f,  0.43958923f, -0.75813115f,  1.07831764f,  0.80080050f,  1.68062055f,
    1.27912438f,  1.29642284f,  0.61046648f,  1.33473778f, -0.23162432f,  0.04175949f,
   -0.25157529f,  0.85985851f, -1.38467419f, -0.87123615f, -0.22336593f,  1.71736109f,
    0.31887972f, -0.42451897f,  0.30572033f, -0.77459252f, -1.55757225f,  0.99563611f,
   -0.87978584f, -0.60114294f, -1.27415144f,  2.12278509f, -1.23465335f, -0.48791388f,
   -0.91382301f, -0.65813726f,  2.21807575f,  0.52316558f,  0.34664667f, -0.19733144f,
   -1.05458987f,  1.27799511f,  0.14533801f,  0.23105139f,  0.05662182f,  0.42629617f,
    0.57500505f, -0.64172417f, -2.20639801f, -0.75080365f,  2.81402707f,  0.35978732f,
    /* enc.W_Q, 6 x 6 */
    0.37185648f,  0.37107792f, -0.18702847f,  0.22795005f,  0.31600061f,  0.21308200f,
   -0.29963404f,  0.08971273f,  0.35066348f, -0.10432125f, -0.38434142f,  0.21453986f,
    0.21818882f,  0.05251709f,  0.09101847f, -0.23293623f,  0.09481595f,  0.15265515f,
    0.14347462f, -0.35977077f, -0.22587416f, -0.13980173f,  0.21089773f, -0.07173797f,
    0.13266271f,  0.17137794f, -0.20663036f, -0.30499205f,  0.07402740f, -0.10810467f,
   -0.22071789f, -0.06124565f, -0.01949619f,  0.14559460f, -0.14538728f,  0.04367478f,
    /* enc.W_K, 6 x 6 */
   -0.17590319f, -0.28021967f,  0.35125551f, -0.33887488f,  0.30309543f,  0.37189758f,
   -0.24440543f, -0.23817280f,  0.12720285f, -0.40586439f, -0.29967618f, -0.32370913f,
    0.00113136f, -0.13974234f, -0.34570342f,  0.11680418f, -0.07049360f,  0.10274273f,
   -0.15191051f, -0.32222259f,  0.28252220f, -0.08917934f,  0.08527070f, -0.17559819f,
   -0.02828988f,  0.34230390f, -0.11232740f,  0.15894051f,  0.21075892f, -0.04473781f,
   -0.27664119f, -0.08102261f, -0.15649222f, -0.33503446f,  0.32958308f, -0.30556983f,
    /* enc.W_V, 6 x 6 */
    0.21660763f, -0.20602241f, -0.29605079f, -0.23379165f, -0.34635651f,  0.12580568f,
   -0.16501580f,  0.12446529f, -0.21795079f,  0.10198192f, -0.22480708f, -0.38076678f,
    0.24777561f,  0.08630677f,  0.37381744f, -0.05388599f, -0.35730386f, -0.26812679f,
   -0.09687758f, -0.10408647f, -0.13775624f, -0.29634172f, -0.25994724f, -0.13588783f,
    0.23353678f,  0.24334435f, -0.14473072f,  0.00957615f,  0.40808862f,  0.06383824f,
   -0.31719586f,  0.27753097f, -0.39501888f, -0.27886686f,  0.07710788f, -0.35922638f,
    /* enc.W_O, 6 x 6 */
   -0.07211874f,  0.00595728f,  0.34379792f, -0.13307361f, -0.06442838f, -0.26424104f,
   -0.12165842f, -0.02437579f,  0.15903516f,  0.13786715f,  0.39491880f,  0.29797524f,
    0.26095513f,  0.09814750f, -0.02030528f,  0.26030797f,  0.05905618f, -0.18563123f,
    0.35084841f,  0.11440490f, -0.24613525f,  0.18848716f, -0.10572436f, -0.08184021f,
   -0.04041550f, -0.37079430f, -0.24976839f, -0.36086866f,  0.16889855f, -0.40612715f,
   -0.09140551f, -0.15065904f, -0.36569530f, -0.24550521f, -0.15549424f,  0.27322862f,
    /* enc.W1, 6 x 6 */
    0.30930305f,  0.19600236f, -0.34977579f, -0.07439246f, -0.13096963f,  0.22841121f,
    0.14878535f,  0.34354275f, -0.38185450f, -0.28733939f, -0.29947758f, -0.28422433f,
   -0.28466102f,  0.21386899f,  0.16712132f, -0.26675585f, -0.07203089f,  0.20519283f,
   -0.40291655f,  0.10332445f, -0.20043685f,  0.13542038f, -0.19789732f,  0.18525665f,
   -0.33157068f, -0.00399785f, -0.08216102f, -0.12132992f, -0.12490013f,  0.29166594f,
    0.30443087f, -0.31047529f, -0.23494905f,  0.25202930f, -0.38865060f, -0.31314769f,
    /* enc.b1, 6 */
    0.29361087f, -0.19300005f,  0.15148836f,  0.38339198f, -0.05757602f, -0.00315717f,
    /* enc.W2, 6 x 6 */
   -0.09399124f,  0.38608304f, -0.09266569f, -0.38796002f, -0.36867386f, -0.13595124f,
   -0.34088102f, -0.09629742f, -0.24472669f,  0.33497080f, -0.39728457f, -0.13207681f,
    0.19591953f, -0.33543393f, -0.03570692f,  0.34224731f,  0.15172893f,  0.01311751f,
   -0.40527537f,  0.09178658f, -0.20094532f, -0.06404153f, -0.22414717f, -0.08659454f,
    0.25344050f,  0.22552751f, -0.16687867f, -0.04649216f, -0.26245344f, -0.14056496f,
    0.30546162f, -0.40633312f, -0.12960204f, -0.16661426f, -0.03185284f, -0.19547170f,
    /* enc.b2, 6 */
   -0.33224365f,  0.34231913f, -0.16337572f,  0.10817742f, -0.14164825f,  0.03317478f,
    /* dec.embedding_table, 11 x 6 */
   -2.30650854f, -1.28689206f,  0.21368301f, -1.23510599f,  1.85919750f,  0.05612517f,
    0.76942468f,  2.55741239f,  1.20485067f, -0.98247331f,  0.30396891f,  0.93389589f,
   -1.97258306f, -1.41198635f,  1.73613966f,  1.83502841f, -0.00465679f,  0.07954944f,
   -0.45604372f, -0.06191369f, -0.22218767f, -1.24695921f, -0.48619151f, -0.33599567f,
   -0.58709854f,  0.08268885f,  0.18576406f, -0.96979523f,  1.89315379f,  0.44468901f,
    0.13636942f,  0.30880165f, -0.48750544f,  0.05009584f,  0.32730606f,  0.12921976f,
    2.85197473f, -0.74356931f,  0.19537131f, -1.33504295f, -0.57301682f, -0.33031744f,
   -0.30712813f, -0.71549588f,  0.07616719f, -0.21270880f, -0.56625801f,  0.39892206f,
   -0.55134666f,  1.98896122f, -1.33506680f,  1.65163517f,  1.98100579f, -0.10479277f,
    0.49028718f, -0.43746591f, -1.22011137f, -0.58541518f, -0.05893524f, -0.48091972f,
    0.99334300f,  0.26951119f, -1.83162856f,  0.35699460f,  0.91428977f,  2.18823600f,
    /* dec.self.W_Q, 6 x 6 */
    0.15300722f,  0.36558002f, -0.21154723f, -0.24028119f,  0.37305117f, -0.02969290f,
   -0.20856658f,  0.23964633f, -0.27551284f,  0.05506986f,  0.39713687f,  0.00561101f,
   -0.33923000f,  0.30841100f, -0.13036758f, -0.24063510f,  0.12210932f,  0.15245003f,
   -0.22298826f, -0.05464393f,  0.08567468f, -0.26579472f,  0.14050180f,  0.37957737f,
    0.39371848f, -0.22462960f,  0.21016484f,  0.21280020f,  0.09401295f, -0.10580126f,
    0.34899426f,  0.20398395f, -0.15856732f, -0.06857943f,  0.00639353f, -0.17257300f,
    /* dec.self.W_K, 6 x 6 */
   -0.14869985f, -0.32512882f, -0.12337199f, -0.29782087f, -0.33419171f,  0.05837051f,
    0.10393415f,  0.25802025f,  0.29684836f,  0.32753843f,  0.07885011f, -0.24090111f,
    0.19250169f, -0.15838191f, -0.01061330f,  0.31990907f,  0.10860818f, -0.02311249f,
   -0.05160974f,  0.00624840f,  0.31867841f, -0.31171688f,  0.08654091f,  0.09803887f,
   -0.16140212f, -0.08067634f,  0.39252278f, -0.03155894f, -0.11111078f,  0.14296556f,
    0.22748660f,  0.04949560f, -0.19889489f, -0.40258440f,  0.37664080f, -0.28866455f,
    /* dec.self.W_V, 6 x 6 */
    0.28140807f,  0.12095533f, -0.10047013f, -0.11884547f, -0.16675588f, -0.30604661f,
    0.20024709f, -0.18849309f, -0.36970547f, -0.15971577f,  0.15004778f,  0.24215613f,
    0.13082319f, -0.11422692f, -0.38385850f,  0.38923612f, -0.27200571f,  0.32829812f,
   -0.22942072f,  0.27571774f, -0.19514884f,  0.14220221f, -0.26687357f,  0.06622741f,
   -0.33139539f,  0.03252094f, -0.20752135f,  0.29104117f, -0.01971826f, -0.07108145f,
    0.04415639f,  0.01841948f,  0.12719123f, -0.19763820f, -0.14932118f, -0.37814939f,
    /* dec.self.W_O, 6 x 6 */
   -0.09886339f, -0.30044279f,  0.12706514f,  0.30796894f,  0.29516962f,  0.11166855f,
   -0.19723466f, -0.21910882f, -0.31144124f, -0.01372404f, -0.35444528f, -0.19639471f,
    0.06941801f, -0.08969682f, -0.25831693f, -0.04747879f,  0.15708742f, -0.05223175f,
    0.30473629f, -0.07525002f, -0.33941051f,  0.25535053f,  0.07706871f,  0.38788486f,
    0.31924096f,  0.03357750f,  0.35571477f, -0.03773342f,  0.08777817f,  0.27428141f,
    0.18743722f, -0.37476030f, -0.38658658f,  0.25603461f,  0.05960076f, -0.01533726f,
    /* dec.cross.W_Q, 6 x 6 */
    0.30976439f,  0.14440455f, -0.10068718f, -0.05062671f,  0.15673049f, -0.35747731f,
    0.39422670f,  0.01084622f, -0.02047941f,  0.16614039f,  0.32460648f, -0.09343600f,
    0.25975305f,  0.05524910f, -0.33898127f, -0.39933923f, -0.11157779f,  0.08330528f,
   -0.24377485f, -0.32810783f, -0.22837700f,  0.12125468f, -0.16761413f, -0.38247791f,
   -0.26708469f, -0.13630816f, -0.00833627f, -0.26993710f, -0.36915275f,  0.35644710f,
    0.35627550f,  0.39298722f, -0.25358728f, -0.19924602f, -0.21051636f,  0.25613126f,
    /* dec.cross.W_K, 6 x 6 */
   -0.25058788f, -0.20141783f,  0.07000908f,  0.15862325f, -0.03269156f, -0.38637760f,
    0.15566862f, -0.19303308f,  0.11102060f,  0.35473832f, -0.35935521f, -0.15791012f,
    0.34050065f,  0.25153384f, -0.23776020f, -0.31161571f,  0.28491616f, -0.07953442f,
   -0.12143869f, -0.35570744f, -0.00563243f,  0.01223736f,  0.04728120f, -0.34690911f,
   -0.11875077f,  0.04991846f,  0.02244731f, -0.20397566f, -0.22002871f, -0.25960034f,
    0.21798554f,  0.36063918f,  0.10019813f, -0.32295051f,  0.21334203f, -0.06663372f,
    /* dec.cross.W_V, 6 x 6 */
   -0.38397014f, -0.09060772f,  0.32958341f, -0.08918907f,  0.27872455f, -0.35976815f,
    0.01789261f,  0.07264935f, -0.14098915f, -0.27689537f,  0.38701168f, -0.20463346f,
   -0.27800629f,  0.38417295f, -0.09130745f,  0.16617475f,  0.02185060f, -0.37582022f,
    0.33198407f,  0.03879144f,  0.19675028f,  0.06259184f, -0.35118032f, -0.37665612f,
   -0.24784239f,  0.23644273f, -0.11139777f,  0.18201683f, -0.28639731f, -0.24395064f,
   -0.02947618f,  0.31689116f,  0.19116798f,  0.40558898f, -0.25359312f, -0.40246502f,
    /* dec.cross.W_O, 6 x 6 */
   -0.39965299f,  0.32791302f, -0.06726527f, -0.40122294f,  0.22590536f, -0.29686773f,
   -0.19499286f, -0.22821008f, -0.23243345f,  0.21404545f, -0.32317773f,  0.31398249f,
    0.13315231f,  0.33855084f, -0.06602772f,  0.15083458f, -0.05995228f, -0.09103866f,
   -0.08387853f,  0.02634111f,  0.33111116f,  0.01730657f,  0.18110491f, -0.08716691f,
   -0.04448947f,  0.08206680f, -0.30291507f,  0.17521738f,  0.40654054f, -0.37106085f,
   -0.18433051f,  0.31848750f,  0.09266438f,  0.00045917f,  0.20795819f, -0.06426413f,
    /* dec.W1, 6 x 6 */
    0.28876495f, -0.35434100f,  0.06856381f, -0.22850627f,  0.10252636f, -0.03320305f,
    0.05692811f, -0.12895565f,  0.40022969f,  0.37533939f, -0.33090535f,  0.18649507f,
   -0.23778585f, -0.39419377f,  0.07987465f,  0.24730273f,  0.17245416f,  0.23424862f,
    0.12566377f, -0.16078050f,  0.23577809f, -0.19088833f,  0.12892386f, -0.40585804f,
   -0.13090253f,  0.12869932f,  0.32727724f, -0.19481747f, -0.35468704f,  0.37440407f,
    0.37272826f,  0.39298579f,  0.34126428f, -0.34241670f,  0.11124802f,  0.34237418f,
    /* dec.b1, 6 */
    0.16243532f, -0.37312305f, -0.14583477f, -0.11831398f, -0.10491897f,  0.23022066f,
    /* dec.W2, 6 x 6 */
    0.14842707f, -0.39600894f,  0.22026178f,  0.24427082f,  0.28555620f, -0.17303212f,
    0.32340577f, -0.21183558f,  0.33574042f,  0.06395295f, -0.27933967f, -0.00563403f,
   -0.15289845f,  0.27946544f, -0.30820245f,  0.13454832f, -0.22511326f,  0.37364224f,
    0.13739178f, -0.38434932f, -0.29879683f,  0.38747936f,  0.29801762f, -0.24503884f,
    0.14525276f, -0.35535312f,  0.20942594f, -0.26340356f,  0.12881136f,  0.00320973f,
   -0.33990380f,  0.22870094f,  0.35502505f, -0.18534955f,  0.13189280f,  0.19416270f,
    /* dec.b2, 6 */
   -0.28183678f,  0.39648131f, -0.20396516f, -0.09803513f, -0.11045986f, -0.26603863f,
    /* out.W, 6 x 11 */
   -0.40059960f,  0.15604681f, -0.27975148f,  0.10624739f, -0.20763017f,  0.26329622f,
   -0.08188630f,  0.05969527f,  0.11074193f, -0.10664324f, -0.11804047f,
    0.23019145f,  0.16380745f,  0.03363352f,  0.15396693f,  0.39342970f, -0.37537327f,
    0.16215204f,  0.19778070f,  0.15696014f,  0.29045123f,  0.02070892f,
    0.10846101f, -0.24425417f,  0.04057498f, -0.21504031f, -0.18462947f, -0.22617556f,
   -0.36452979f,  0.35329691f,  0.22407737f,  0.19946176f,  0.24503022f,
   -0.38236570f, -0.17897446f, -0.05169281f, -0.40481046f,  0.27587250f, -0.06806108f,
    0.23501484f, -0.24935506f, -0.09257182f,  0.36009654f, -0.23305371f,
   -0.26275957f, -0.06162677f,  0.05659620f,  0.21369120f,  0.20711601f, -0.27517834f,
   -0.12687694f, -0.20090075f,  0.22681037f, -0.23199686f,  0.20439114f,
    0.40349957f, -0.07466042f, -0.16180947f,  0.09738221f, -0.34227869f,  0.39882180f,
   -0.31054276f,  0.07849099f,  0.30099803f, -0.20159668f, -0.14630860f,
    /* out.b, 11 */
    0.24662659f, -0.01938250f, -0.35766101f, -0.22463694f, -0.29547054f,  0.20247585f,
   -0.27375016f, -0.03401453f,  0.08808195f, -0.22388120f,  0.11776740f,
};
/* clang-format on */

size_t hd_lecture_length(hd_lecture_axis a)
{
    return a == HD_LECTURE_CHANNELS ? HD_LECTURE_WIDTH
           : a == HD_LECTURE_WORDS  ? HD_LECTURE_VOCAB
                                    : HD_LECTURE_LENGTH;
}

/* Copies a [rows, cols] to b [cols, rows]. */
static void turn(hd_real *b, const hd_real *a, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) b[j * rows + i] = a[i * cols + j];
}

static size_t rows_of(const hd_lecture_matrix *x)
{
    return x->kind == HD_LECTURE_BIAS ? 1 : hd_lecture_length(x->rows);
}

const float *hd_lecture_weight(const hd_lecture_matrix *x)
{
    const float *at = lecture_weights;
    for (const hd_lecture_matrix *m = hd_lecture_matrices; m != x; m++)
        if (hd_lecture_learned(m)) at += rows_of(m) * hd_lecture_length(m->cols);
    return hd_lecture_learned(x) ? at : NULL;
}

static hd_status set_weight(hd_encdec *m, const hd_lecture_matrix *x, hd_err *err)
{
    size_t rows = rows_of(x), cols = hd_lecture_length(x->cols);
    hd_param *p = hd_params_find(&m->params, x->engine);
    if (!p || hd_count_of(&p->t) != rows * cols)
        return hd_err_set(err, HD_ESHAPE, "the transformer has no '%s' of %zu x %zu", x->engine, rows, cols);
    hd_real shown[HD_LECTURE_LARGEST], turned[HD_LECTURE_LARGEST];
    const float *weight = hd_lecture_weight(x);
    for (size_t i = 0; i < rows * cols; i++) shown[i] = (hd_real)weight[i];
    turn(turned, shown, rows, cols);
    return hd_params_set(&m->params, p, x->kind == HD_LECTURE_WEIGHT ? turned : shown);
}

hd_status hd_lecture_new(hd_encdec **out, hd_backend *backend, float eps, bool training, hd_err *err)
{
    const hd_encdec_opt opt = {.encoder_layers = 1,
                               .decoder_layers = 1,
                               .stack.heads = 1,
                               .stack.width = HD_LECTURE_WIDTH,
                               .stack.inner = HD_LECTURE_WIDTH,
                               .source_vocab = HD_LECTURE_VOCAB,
                               .target_vocab = HD_LECTURE_VOCAB,
                               .stack.plain = true,
                               .output_bias = true,
                               .stack.eps = eps,
                               .stack.act = HD_relu,
                               .positions = HD_LECTURE_POSITIONS};
    hd_encdec *m = NULL;
    hd_status s = hd_encdec_new(&m, backend, &opt, training, err);
    for (const hd_lecture_matrix *x = hd_lecture_matrices; !s && x->name; x++)
        if (hd_lecture_learned(x)) s = set_weight(m, x, err);
    if (s)
        hd_encdec_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_lecture_read(const hd_encdec *m, const hd_lecture_matrix *x, bool gradient, hd_real *to)
{
    hd_real all[HD_LECTURE_POSITIONS * HD_LECTURE_WIDTH];
    size_t rows = rows_of(x), cols = hd_lecture_length(x->cols);
    const hd_param *p =
        x->kind == HD_LECTURE_SINUSOIDS ? m->target.position : hd_params_find(&m->params, x->engine);
    if (!p || hd_count_of(&p->t) > sizeof all / sizeof *all) return HD_EARG;
    hd_status s = hd_params_get(&m->params, p, gradient ? &p->grad : &p->t, all);
    if (s) return s;
    if (x->kind == HD_LECTURE_WEIGHT)
        turn(to, all, cols, rows);
    else
        memcpy(to, all, rows * cols * sizeof *to);
    return HD_OK;
}

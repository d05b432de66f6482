// Words that an attribute may be. The schemas' facts do not hold them: they stand in the text of
// the standard, operator by operator.

#include "passes/lint/choices.h"

#include <string.h>

static const struct Choice {
    const char *op; // NULL: of every operator that has the attribute
    const char *attribute, *words;
} choices[] = {
    {NULL, "auto_pad", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {NULL, "post_transform", "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT"},
    {NULL, "kernel_type", "LINEAR POLY RBF SIGMOID"},
    {NULL, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"},
    {NULL, "keep_aspect_ratio_policy", "stretch not_larger not_smaller"},
    {NULL, "padding_mode", "zeros border reflection"},
    {NULL, "case_change_action", "LOWER UPPER NONE"},
    {NULL, "approximate", "none tanh"},
    {NULL, "aggregate_function", "AVERAGE SUM MIN MAX"},
    {NULL, "cast_to", "TO_FLOAT TO_STRING TO_INT64"},
    {NULL, "map_form", "DENSE SPARSE"},
    {NULL, "pixel_format", "RGB BGR Grayscale"},
    {"Resize", "mode", "nearest linear cubic"},
    {"Resize", "coordinate_transformation_mode",
     "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric "
     "tf_half_pixel_for_nn tf_crop_and_resize"},
    {"Pad", "mode", "constant reflect edge wrap"},
    {"DepthToSpace", "mode", "DCR CRD"},
    {"GridSample", "mode", "bilinear nearest bicubic linear cubic"},
    {"RoiAlign", "mode", "avg max"},
    {"RoiAlign", "coordinate_transformation_mode", "half_pixel output_half_pixel"},
    {"TfIdfVectorizer", "mode", "TF IDF TFIDF"},
    {"Momentum", "mode", "standard nesterov"},
    {"TensorScatter", "mode", "linear circular"},
    {"Normalizer", "norm", "MAX L1 L2"},
    {"BitShift", "direction", "LEFT RIGHT"},
    {"LSTM", "direction", "forward reverse bidirectional"},
    {"GRU", "direction", "forward reverse bidirectional"},
    {"RNN", "direction", "forward reverse bidirectional"},
    {"ScatterND", "reduction", "none add mul max min"},
    {"ScatterElements", "reduction", "none add mul max min"},
    {"NegativeLogLikelihoodLoss", "reduction", "none mean sum"},
    {"SoftmaxCrossEntropyLoss", "reduction", "none mean sum"},
};

static bool is_among(const char *words, Str word)
{
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        if (n == word.len && memcmp(p, word.at, n) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

const char *lint_choices(const Node *n, const Attr *a)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct Choice *c = &choices[i];
        if (str_is(a->name, c->attribute) && (!c->op || str_is(n->op, c->op)))
            return is_among(c->words, a->s) ? NULL : c->words;
    }
    return NULL;
}

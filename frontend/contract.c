// libclang reads a source as the compiler would, with CUDA's words and types given by a small
// header of our own; errors (headers that are not here, calls of what they declare) are passed
// over, since a signature needs none of them. Which dtypes a template is made for stands in its
// instantiations and launches, and in the dispatch macros around these: that is looked for among
// the tokens.

#include "frontend/contract.h"
#include "base/file.h"

#include <clang-c/Index.h>
#include <dlfcn.h>
#include <string.h>

enum { MAX_SOURCE = 16 << 20, MAX_PARAMS = 64, MAX_VARIABLES = 16, MAX_DISPATCH = 64 };

#define CLANG_FUNCTIONS(X)                                                                         \
    X(clang_createIndex)                                                                           \
    X(clang_disposeIndex)                                                                          \
    X(clang_parseTranslationUnit2)                                                                 \
    X(clang_disposeTranslationUnit)                                                                \
    X(clang_getTranslationUnitCursor)                                                              \
    X(clang_visitChildren)                                                                         \
    X(clang_getCursorKind)                                                                         \
    X(clang_getCursorSpelling)                                                                     \
    X(clang_getCursorType)                                                                         \
    X(clang_getCursorLocation)                                                                     \
    X(clang_getCursorExtent)                                                                       \
    X(clang_Location_isFromMainFile)                                                               \
    X(clang_getNumDiagnostics)                                                                     \
    X(clang_getDiagnostic)                                                                         \
    X(clang_disposeDiagnostic)                                                                     \
    X(clang_getDiagnosticSeverity)                                                                 \
    X(clang_getDiagnosticCategoryText)                                                             \
    X(clang_getDiagnosticLocation)                                                                 \
    X(clang_getDiagnosticSpelling)                                                                 \
    X(clang_getSpellingLocation)                                                                   \
    X(clang_getCString)                                                                            \
    X(clang_disposeString)                                                                         \
    X(clang_getCanonicalType)                                                                      \
    X(clang_getPointeeType)                                                                        \
    X(clang_isConstQualifiedType)                                                                  \
    X(clang_getTypeSpelling)                                                                       \
    X(clang_Type_getSizeOf)                                                                        \
    X(clang_tokenize)                                                                              \
    X(clang_disposeTokens)                                                                         \
    X(clang_getTokenSpelling)                                                                      \
    X(clang_getTokenLocation)                                                                      \
    X(clang_getCursorResultType)                                                                   \
    X(clang_getCursorLinkage)                                                                      \
    X(clang_isInvalidDeclaration)                                                                  \
    X(clang_getTokenKind)

typedef struct Clang {
#define X(name) __typeof__(&(name)) name;
    CLANG_FUNCTIONS(X)
#undef X
} Clang;

// CUDA's words and the types of its headers, as far as signatures use them.
static const char stub[] = "#pragma once\n"
                           "#include <stdint.h>\n#include <stddef.h>\n"
                           "#define __launch_bounds__(...)\n"
                           "#ifdef __cplusplus\n"
                           "struct __half { unsigned short x; };\ntypedef __half half;\n"
                           "struct __nv_bfloat16 { unsigned short x; };\n"
                           "typedef __nv_bfloat16 nv_bfloat16;\n"
                           "struct __nv_fp8_e4m3 { unsigned char x; };\n"
                           "struct __nv_fp8_e5m2 { unsigned char x; };\n"
                           "struct __half2 { __half x, y; };\ntypedef __half2 half2;\n"
                           "struct __nv_bfloat162 { __nv_bfloat16 x, y; };\n"
                           "typedef __nv_bfloat162 nv_bfloat162;\n"
                           "#define V(T, N) struct N##1 { T x; }; struct N##2 { T x, y; }; \\\n"
                           "struct N##3 { T x, y, z; }; struct N##4 { T x, y, z, w; };\n"
                           "V(signed char, char) V(unsigned char, uchar) V(short, short)\n"
                           "V(unsigned short, ushort) V(int, int) V(unsigned, uint)\n"
                           "V(long long, longlong) V(unsigned long long, ulonglong)\n"
                           "V(float, float) V(double, double)\n"
                           "#undef V\n"
                           "#endif\n"
                           "#ifdef __CUDA__\n"
                           "#define __global__ __attribute__((global))\n"
                           "#define __device__ __attribute__((device))\n"
                           "#define __host__ __attribute__((host))\n"
                           "#define __shared__ __attribute__((shared))\n"
                           "#define __constant__ __attribute__((constant))\n"
                           "#define __forceinline__ inline\n"
                           "#else\n"
                           "#define __global__\n#define __device__\n#define __host__\n"
                           "#endif\n";
static const char *const stub_names[] = {
    "cameo_contract.h", "cuda_fp16.h", "cuda_bf16.h",        "cuda_fp8.h",
    "cuda_runtime.h",   "cuda.h",      "cuda_runtime_api.h", "device_launch_parameters.h"};
enum { NSTUBS = sizeof stub_names / sizeof *stub_names };
#define STUB_FOLDER "/cameo-contract"

typedef struct Place {
    uint32_t line, column;
} Place;

typedef struct Source {
    Arena *arena;
    Contracts *out;
    const char *path;
    bool is_cuda;
    bool (*wanted)(void *context, Str symbol);
    void *context;
    Clang clang;
    CXTranslationUnit unit;
    CustomFunction *now; // whose parameters are visited
    VEC(Str) tokens;     // of the whole file, without comments
    VEC(Place) places;   // of each
} Source;

static bool load_clang(Arena *a, Clang *c, Str *error)
{
    static const char *const names[] = {"libclang-19.so.19", "libclang-19.so.1", "libclang-19.so"};
    void *lib = NULL;
    for (int i = 0; i < 3 && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    void *at;
    if (!lib) {
        *error = STR("libclang 19 cannot be loaded (Debian package libclang1-19)");
        return false;
    }
#define X(name)                                                                                    \
    at = dlsym(lib, #name);                                                                        \
    missing = at ? missing : #name;                                                                \
    memcpy(&c->name, &at, sizeof at);
    CLANG_FUNCTIONS(X)
#undef X
    if (missing)
        *error = str_printf(a, "libclang has no %s", missing);
    return !missing;
}

static Str taken(Source *s, CXString text)
{
    const char *at = s->clang.clang_getCString(text);
    Str copy = str_copy(s->arena, str_of(at ? at : ""));
    s->clang.clang_disposeString(text);
    return copy;
}

// ---- types

// By the names of libraries whose types are structs.
static DType named_type(Str name)
{
    static const struct {
        const char *name;
        DType dtype;
    } known[] = {{"__half", DT_F16},
                 {"half", DT_F16},
                 {"Half", DT_F16},
                 {"half_t", DT_F16},
                 {"_Float16", DT_F16},
                 {"__fp16", DT_F16},
                 {"float16_t", DT_F16},
                 {"MLFloat16", DT_F16},
                 {"__nv_bfloat16", DT_BF16},
                 {"nv_bfloat16", DT_BF16},
                 {"BFloat16", DT_BF16},
                 {"bfloat16_t", DT_BF16},
                 {"__bf16", DT_BF16},
                 {"bfloat16", DT_BF16},
                 {"__nv_fp8_e4m3", DT_F8E4M3FN},
                 {"__nv_fp8_e5m2", DT_F8E5M2},
                 {"__half2", DT_F16},
                 {"__nv_bfloat162", DT_BF16},
                 {"float", DT_F32},
                 {"double", DT_F64},
                 {"bool", DT_BOOL},
                 {"int8_t", DT_I8},
                 {"int16_t", DT_I16},
                 {"int32_t", DT_I32},
                 {"int64_t", DT_I64},
                 {"uint8_t", DT_U8},
                 {"uint16_t", DT_U16},
                 {"uint32_t", DT_U32},
                 {"uint64_t", DT_U64},
                 {"int", DT_I32},
                 {"char", DT_I8},
                 {"short", DT_I16},
                 {"long", DT_I64},
                 {"unsigned", DT_U32}};
    for (size_t i = name.len; i-- > 0;) // without namespaces
        if (name.at[i] == ':' || name.at[i] == ' ') {
            name = (Str){name.at + i + 1, name.len - i - 1};
            break;
        }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i].name))
            return known[i].dtype;
    return DT_NONE;
}

// CUDA's vectors by the names of their elements: "float4", "ushort2".
static DType vector_type(Str name)
{
    static const struct {
        const char *element;
        DType dtype;
    } known[] = {{"char", DT_I8},      {"uchar", DT_U8},     {"short", DT_I16}, {"ushort", DT_U16},
                 {"int", DT_I32},      {"uint", DT_U32},     {"float", DT_F32}, {"double", DT_F64},
                 {"longlong", DT_I64}, {"ulonglong", DT_U64}};
    if (name.len < 2 || name.at[name.len - 1] < '1' || name.at[name.len - 1] > '4')
        return DT_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is((Str){name.at, name.len - 1}, known[i].element))
            return known[i].dtype;
    return DT_NONE;
}

static DType integer_type(enum CXTypeKind kind, long long bytes)
{
    bool is_unsigned = kind == CXType_UChar || kind == CXType_Char_U || kind == CXType_UShort ||
                       kind == CXType_UInt || kind == CXType_ULong || kind == CXType_ULongLong;
    bool is_signed = kind == CXType_SChar || kind == CXType_Char_S || kind == CXType_Short ||
                     kind == CXType_Int || kind == CXType_Long || kind == CXType_LongLong;
    if (!is_unsigned && !is_signed)
        return DT_NONE;
    return bytes == 1   ? (is_signed ? DT_I8 : DT_U8)
           : bytes == 2 ? (is_signed ? DT_I16 : DT_U16)
           : bytes == 4 ? (is_signed ? DT_I32 : DT_U32)
                        : (is_signed ? DT_I64 : DT_U64);
}

static DType dtype_of_type(Source *s, CXType t)
{
    CXType canonical = s->clang.clang_getCanonicalType(t);
    DType integer = integer_type(canonical.kind, s->clang.clang_Type_getSizeOf(canonical));
    switch ((int)canonical.kind) {
    case CXType_Float:
        return DT_F32;
    case CXType_Double:
        return DT_F64;
    case CXType_Half:
    case CXType_Float16:
        return DT_F16;
    case CXType_BFloat16:
        return DT_BF16;
    case CXType_Bool:
        return DT_BOOL;
    default:
        break;
    }
    if (integer != DT_NONE)
        return integer;
    Str name = taken(s, s->clang.clang_getTypeSpelling(canonical));
    if (str_starts(name, "const "))
        name = (Str){name.at + 6, name.len - 6};
    DType vector = vector_type(name);
    return vector != DT_NONE ? vector : named_type(name);
}

static bool is_vector(Source *s, CXType t)
{
    CXType canonical = s->clang.clang_getCanonicalType(t);
    return canonical.kind == CXType_Record &&
           s->clang.clang_Type_getSizeOf(canonical) > dtype_info(dtype_of_type(s, t))->bytes;
}

static int32_t variable_of(const CustomFunction *f, Str name)
{
    if (str_starts(name, "const "))
        name = (Str){name.at + 6, name.len - 6};
    for (uint32_t i = 0; i < f->nvariables; i++)
        if (str_eq(f->variables[i].name, name))
            return (int32_t)i;
    return -1;
}

static void take_param(Source *s, CXCursor cursor)
{
    CustomFunction *f = s->now;
    CXType type = s->clang.clang_getCursorType(cursor);
    CXType canonical = s->clang.clang_getCanonicalType(type);
    CustomParam p = {.kind = CUSTOM_OTHER, .variable = -1};
    p.name = taken(s, s->clang.clang_getCursorSpelling(cursor));
    p.type = taken(s, s->clang.clang_getTypeSpelling(type));
    // clang reads on with int for a type that no header declares.
    const bool known = !s->clang.clang_isInvalidDeclaration(cursor);
    if (canonical.kind == CXType_Pointer) {
        CXType to = s->clang.clang_getPointeeType(canonical);
        p.kind = s->clang.clang_isConstQualifiedType(to) ? CUSTOM_INPUT : CUSTOM_OUTPUT;
        // A template's parameter has its name only where the type is as written.
        CXType written = s->clang.clang_getPointeeType(type);
        p.variable = variable_of(f, taken(s, s->clang.clang_getTypeSpelling(written)));
        p.dtype =
            p.variable < 0 && to.kind != CXType_Void && known ? dtype_of_type(s, to) : DT_NONE;
        p.is_vector = p.dtype != DT_NONE && is_vector(s, to);
    } else if (known && canonical.kind != CXType_Record) {
        DType t = dtype_of_type(s, canonical);
        p.kind = dtype_is_integer(t)          ? CUSTOM_SIZE
                 : t == DT_F32 || t == DT_F64 ? CUSTOM_FLOAT
                                              : CUSTOM_OTHER;
        p.dtype = t;
        p.bits = dtype_info(t)->bits;
    }
    if (f->nparams < MAX_PARAMS)
        f->params[f->nparams++] = p;
}

// ---- which dtypes a template is made for

// Every token of the file but comments and directives, so that `tokens` can be searched by index.
static void tokenize(Source *s)
{
    CXToken *tokens = NULL;
    unsigned n = 0, directive = 0;
    CXCursor all = s->clang.clang_getTranslationUnitCursor(s->unit);
    s->clang.clang_tokenize(s->unit, s->clang.clang_getCursorExtent(all), &tokens, &n);
    for (unsigned i = 0; i < n; i++) {
        unsigned line, column;
        CXSourceLocation at = s->clang.clang_getTokenLocation(s->unit, tokens[i]);
        s->clang.clang_getSpellingLocation(at, NULL, &line, &column, NULL);
        Str text = taken(s, s->clang.clang_getTokenSpelling(s->unit, tokens[i]));
        if (str_is(text, "#"))
            directive = line;
        if (line == directive || s->clang.clang_getTokenKind(tokens[i]) == CXToken_Comment)
            continue;
        vec_push(s->arena, &s->tokens, text);
        vec_push(s->arena, &s->places, ((Place){line, column}));
    }
    s->clang.clang_disposeTokens(s->unit, tokens, n);
}

static bool token_is(const Source *s, uint32_t i, const char *text)
{
    return i < s->tokens.len && str_is(s->tokens.at[i], text);
}

// The dtypes that a dispatch macro of PyTorch tries, by its name; _AND names more in front.
static uint64_t dispatched(Str macro)
{
    static const struct {
        const char *prefix;
        uint64_t types;
    } known[] = {
        {"AT_DISPATCH_FLOATING_TYPES_AND_HALF", 1 << DT_F32 | 1 << DT_F64 | 1 << DT_F16},
        {"AT_DISPATCH_FLOATING_TYPES", 1 << DT_F32 | 1 << DT_F64},
        {"AT_DISPATCH_REDUCED_FLOATING_TYPES", 1 << DT_F16 | 1 << DT_BF16},
        {"AT_DISPATCH_INTEGRAL_TYPES",
         1 << DT_U8 | 1 << DT_I8 | 1 << DT_I16 | 1 << DT_I32 | 1 << DT_I64},
        {"AT_DISPATCH_ALL_TYPES", 1 << DT_U8 | 1 << DT_I8 | 1 << DT_I16 | 1 << DT_I32 |
                                      1 << DT_I64 | 1 << DT_F32 | 1 << DT_F64},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_starts(macro, known[i].prefix))
            return known[i].types;
    return 0;
}

// at::ScalarType::Half, at::kBFloat16
static DType scalar_type(Str token)
{
    static const struct {
        const char *name;
        DType dtype;
    } known[] = {{"Half", DT_F16},   {"BFloat16", DT_BF16}, {"Bool", DT_BOOL}, {"Float", DT_F32},
                 {"Double", DT_F64}, {"Int", DT_I32},       {"Long", DT_I64}};
    Str name = token.len > 1 && token.at[0] == 'k' ? (Str){token.at + 1, token.len - 1} : token;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i].name))
            return known[i].dtype;
    return DT_NONE;
}

// The dtypes of a dispatch macro whose name is token i; its further types stand in front of what
// asks for the tensor's dtype.
static uint64_t dispatch_at(const Source *s, uint32_t i)
{
    uint64_t types = dispatched(s->tokens.at[i]);
    for (uint32_t k = i + 1; types && k < s->tokens.len && k < i + MAX_DISPATCH; k++) {
        if (s->tokens.at[k].at[0] == '"' || token_is(s, k, "[") || token_is(s, k, "."))
            break;
        DType t = scalar_type(s->tokens.at[k]);
        types |= t != DT_NONE ? UINT64_C(1) << t : 0;
    }
    return types;
}

// The template argument that stands at token i, up to "," or ">": its dtype, or DT_NONE.
static DType argument_at(const Source *s, uint32_t i, Str *word)
{
    *word = STR_NONE;
    for (; i < s->tokens.len && !token_is(s, i, ",") && !token_is(s, i, ">") &&
           !token_is(s, i, ">>>");
         i++)
        if (!token_is(s, i, "const") && !token_is(s, i, ":") && !token_is(s, i, "::"))
            *word = s->tokens.at[i];
    return named_type(*word);
}

// What `using WORD = TYPE` makes of a word anywhere in the file, in its own dispatch macros above
// all: the dtypes, or 0 where it is none or one that is not known.
static uint64_t aliased(const Source *s, Str word)
{
    uint64_t types = 0;
    for (uint32_t i = 0; i + 3 < s->tokens.len; i++) {
        if (!token_is(s, i, "using") || !str_eq(s->tokens.at[i + 1], word) ||
            !token_is(s, i + 2, "="))
            continue;
        Str name = STR_NONE;
        for (uint32_t k = i + 3; k < s->tokens.len && !token_is(s, k, ";"); k++)
            name = s->tokens.at[k];
        if (named_type(name) == DT_NONE)
            return 0;
        types |= UINT64_C(1) << named_type(name);
    }
    return types;
}

// Looks at every "symbol < ... >" of the file: what its first arguments are, where the name of one
// is a dispatch macro's scalar_t by that macro, PyTorch's or one of the file.
static void find_types(Source *s, CustomFunction *f)
{
    uint32_t macro = 0;
    bool open[MAX_VARIABLES] = {false};
    for (uint32_t i = 0; i + 2 < s->tokens.len; i++) {
        if (dispatched(s->tokens.at[i]))
            macro = i;
        if (!str_eq(s->tokens.at[i], f->symbol) || !token_is(s, i + 1, "<"))
            continue;
        uint32_t at = i + 2;
        for (uint32_t k = 0; k < f->nvariables; k++) {
            CustomVariable *v = &f->variables[k];
            Str word;
            uint64_t own;
            DType t = argument_at(s, at, &word);
            if (t != DT_NONE) {
                v->types |= UINT64_C(1) << t;
            } else if (str_is(word, "scalar_t") && dispatched(s->tokens.at[macro])) {
                v->types |= dispatch_at(s, macro);
                v->by = s->tokens.at[macro];
            } else if (word.len && (own = aliased(s, word))) {
                v->types |= own;
            } else if (word.len) {
                open[k] = true; // made for what another template is made for
            }
            while (at < s->tokens.len && !token_is(s, at, ",") && !token_is(s, at, ">") &&
                   !token_is(s, at, ">>>"))
                at++;
            at += token_is(s, at, ",");
        }
    }
    for (uint32_t k = 0; k < f->nvariables; k++)
        if (open[k])
            f->variables[k].types = 0;
}

// ---- functions

// The declaration up to its body, spaces made one: what stands around its name in the file.
static Str text_of(Source *s, const CustomFunction *f)
{
    Buf b = {0};
    uint32_t name = 0;
    while (name < s->tokens.len &&
           (s->places.at[name].line < f->line ||
            (s->places.at[name].line == f->line && s->places.at[name].column < f->column)))
        name++;
    uint32_t first = name;
    while (first > 0 && !token_is(s, first - 1, ";") && !token_is(s, first - 1, "}") &&
           !token_is(s, first - 1, "{"))
        first--;
    bool glue = true;
    for (uint32_t i = first; i < s->tokens.len && b.len < 300; i++) {
        Str t = s->tokens.at[i];
        if (str_is(t, "{") || str_is(t, ";"))
            break;
        bool tight = str_is(t, ",") || str_is(t, ")") || str_is(t, "(") || str_is(t, ">");
        if (!glue && !tight)
            buf_char(&b, ' ');
        buf_str(&b, t);
        glue = str_is(t, "(") || str_is(t, "*") || str_is(t, "<");
    }
    Str text = str_copy(s->arena, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return text;
}

static enum CXChildVisitResult visit_function(CXCursor cursor, CXCursor parent, CXClientData data)
{
    Source *s = data;
    (void)parent;
    CustomFunction *f = s->now;
    enum CXCursorKind kind = s->clang.clang_getCursorKind(cursor);
    if (kind == CXCursor_TemplateTypeParameter && f->nvariables < MAX_VARIABLES)
        f->variables[f->nvariables++] =
            (CustomVariable){.name = taken(s, s->clang.clang_getCursorSpelling(cursor))};
    else if (kind == CXCursor_ParmDecl)
        take_param(s, cursor);
    else if (kind == CXCursor_CUDAGlobalAttr)
        f->is_kernel = true;
    else if (kind == CXCursor_CUDADeviceAttr)
        f->is_device = true;
    else if (kind == CXCursor_CUDAHostAttr)
        f->is_device = false;
    return CXChildVisit_Continue;
}

static void take_function(Source *s, CXCursor cursor, Str symbol)
{
    CustomFunction *f = NEW(s->arena, CustomFunction);
    unsigned line, column;
    *f = (CustomFunction){.symbol = symbol, .path = str_of(s->path), .is_cuda = s->is_cuda};
    f->params = NEWS(s->arena, CustomParam, MAX_PARAMS);
    f->variables = NEWS(s->arena, CustomVariable, MAX_VARIABLES);
    s->clang.clang_getSpellingLocation(s->clang.clang_getCursorLocation(cursor), NULL, &line,
                                       &column, NULL);
    CXType gives = s->clang.clang_getCanonicalType(s->clang.clang_getCursorResultType(cursor));
    DType number = dtype_of_type(s, gives);
    f->gives_int = dtype_is_integer(number);
    f->gives_other = !f->gives_int && gives.kind != CXType_Void;
    f->is_c =
        str_ends(f->path, ".c") && s->clang.clang_getCursorLinkage(cursor) == CXLinkage_External;
    f->source = s->out->sources.len;
    f->line = line;
    f->column = column;
    if (!s->tokens.len)
        tokenize(s);
    s->now = f;
    s->clang.clang_visitChildren(cursor, visit_function, s);
    f->text = text_of(s, f);
    if (f->nvariables)
        find_types(s, f);
    if (!f->is_device || f->is_kernel)
        vec_push(s->arena, &s->out->functions, f);
}

static enum CXChildVisitResult visit_top(CXCursor cursor, CXCursor parent, CXClientData data)
{
    Source *s = data;
    (void)parent;
    enum CXCursorKind kind = s->clang.clang_getCursorKind(cursor);
    if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec ||
        kind == CXCursor_UnexposedDecl)
        return CXChildVisit_Recurse;
    if ((kind != CXCursor_FunctionDecl && kind != CXCursor_FunctionTemplate) ||
        !s->clang.clang_Location_isFromMainFile(s->clang.clang_getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    Str symbol = taken(s, s->clang.clang_getCursorSpelling(cursor));
    if (s->wanted(s->context, symbol))
        take_function(s, cursor, symbol);
    return CXChildVisit_Continue;
}

static bool parse(Source *s, CXIndex index, Str *error)
{
    bool is_c = str_ends(str_of(s->path), ".c");
    const char *args[16] = {
        "-w", "-ferror-limit=0", "-I" STUB_FOLDER, "-include", STUB_FOLDER "/cameo_contract.h",
        "-x"};
    unsigned n = 6;
    args[n++] = is_c ? "c" : s->is_cuda ? "cuda" : "c++";
    args[n++] = is_c ? "-std=c11" : "-std=c++17";
    if (s->is_cuda) {
        args[n++] = "--cuda-host-only";
        args[n++] = "-nocudainc";
        args[n++] = "-nocudalib";
    }
    struct CXUnsavedFile files[NSTUBS];
    for (unsigned i = 0; i < NSTUBS; i++) {
        const char *text = i == 0 ? stub : "";
        files[i] = (struct CXUnsavedFile){
            str_printf(s->arena, "%s/%s", STUB_FOLDER, stub_names[i]).at, text, strlen(text)};
    }
    enum CXErrorCode code = s->clang.clang_parseTranslationUnit2(
        index, s->path, args, (int)n, files, NSTUBS,
        CXTranslationUnit_KeepGoing | CXTranslationUnit_Incomplete, &s->unit);
    if (code != CXError_Success)
        *error = str_printf(s->arena, "%s: clang cannot read it (code %d)", s->path, (int)code);
    return code == CXError_Success;
}

// The first place where the source is no C++, whatever headers there are; absent: it parses.
static Str first_fault(Source *s)
{
    unsigned n = s->clang.clang_getNumDiagnostics(s->unit), line, column;
    Str found = STR_NONE;
    for (unsigned i = 0; i < n && !found.len; i++) {
        CXDiagnostic d = s->clang.clang_getDiagnostic(s->unit, i);
        CXSourceLocation at = s->clang.clang_getDiagnosticLocation(d);
        bool error = s->clang.clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error;
        Str kind = taken(s, s->clang.clang_getDiagnosticCategoryText(d));
        if (error && str_is(kind, "Parse Issue") && s->clang.clang_Location_isFromMainFile(at)) {
            Str said = taken(s, s->clang.clang_getDiagnosticSpelling(d));
            s->clang.clang_getSpellingLocation(at, NULL, &line, &column, NULL);
            found = str_printf(s->arena, "%u:%u: %.*s", line, column,
                               STR_ARG(str_escaped(s->arena, said)));
        }
        s->clang.clang_disposeDiagnostic(d);
    }
    return found;
}

bool contract_read(Contracts *c, Arena *a, const char *path,
                   bool (*wanted)(void *context, Str symbol), void *context, Str *error)
{
    Source s = {.arena = a, .out = c, .path = path, .wanted = wanted, .context = context};
    FileView view;
    if (!file_regular(path)) {
        *error = str_printf(a, "%s: there is no such file", path);
        return false;
    }
    if (!file_open(a, path, &view, error))
        return false;
    bool small = view.len <= MAX_SOURCE;
    file_close(&view);
    if (!small) {
        *error = str_printf(a, "%s: a source of more than 16 MiB", path);
        return false;
    }
    if (!load_clang(a, &s.clang, error))
        return false;
    s.is_cuda = str_ends(str_of(path), ".cu") || str_ends(str_of(path), ".cuh");
    CXIndex index = s.clang.clang_createIndex(0, 0);
    bool ok = parse(&s, index, error);
    if (ok) {
        vec_push(a, &c->faults, first_fault(&s));
        s.clang.clang_visitChildren(s.clang.clang_getTranslationUnitCursor(s.unit), visit_top, &s);
        s.clang.clang_disposeTranslationUnit(s.unit);
    }
    s.clang.clang_disposeIndex(index);
    return ok;
}

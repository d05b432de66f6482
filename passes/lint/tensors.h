// A walk over all tensors that a file holds.
#ifndef CAMEO_PASSES_LINT_TENSORS_H
#define CAMEO_PASSES_LINT_TENSORS_H

#include "passes/lint/lint.h"

// `where`: "graph/initializer(w)", "graph/node[/c]:value".
typedef void (*TensorVisit)(Lint *l, void *context, TensorData *t, Str where);

// Initializers, sparse ones by their two parts, and attributes: of the main graph, those inside,
// functions and training graphs.
void lint_each_tensor(Lint *l, TensorVisit visit, void *context);
// The same of sparse tensors.
typedef void (*SparseVisit)(Lint *l, const SparseData *s, Str where);
void lint_each_sparse(Lint *l, SparseVisit visit);

// A fault of a file of external data is one finding, at the first tensor that meets it.
typedef struct FileFault {
    Diag *d;
    uint32_t more; // tensors that meet it too
} FileFault;

typedef struct FileFaults {
    Map files; // by location: index of `at`
    VEC(FileFault) at;
} FileFaults;

// Was the fault of t's file told? If not, the finding is to be stored in **told at once.
bool file_fault_told(Lint *l, FileFaults *f, const TensorData *t, Diag ***told);
// Notes how many further tensors do what `verb` and `rest` say: "lie" "there".
void file_faults_end(Lint *l, const FileFaults *f, const char *verb, const char *rest);

// ST003 of sparse tensors: indices that are not sorted, or outside of the dims.
void lint_sparse_payloads(Lint *l);
// DT003 of sparse initializers that nodes read.
void lint_sparse_operands(Lint *l);
// DT003 of what the schema allows and others refuse (refused.c).
void lint_refused_operands(Lint *l);
uint32_t repair_sparse_operands(Model *m, bool unsafe);
// Bytes of its values and indices.
double lint_sparse_bytes(const SparseData *s);

#endif

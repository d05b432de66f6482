// Which values must have one dtype: what the schemas' type variables and control flow tie together.
#ifndef CAMEO_PASSES_TIES_H
#define CAMEO_PASSES_TIES_H

#include "ir/registry.h"

typedef enum TieKind {
    TIE_FIXED,    // an input's or declaration's dtype, an operand that has to be int64, ...
    TIE_NODE,     // a type variable of one node, a carried value, a result of branches
    TIE_CONSTANT, // an initializer or the value of a Constant or ConstantOfShape: may be stored
                  // otherwise
    TIE_CAST      // what a Cast makes: its attribute may be changed
} TieKind;

typedef struct Tie {
    TieKind kind;
    TypeSet allowed; // dtypes, by bit
    DType own;       // CONSTANT, CAST: as it is now
    ValueId value;   // CONSTANT, CAST: what it makes
} Tie;

typedef struct TieUse {
    Use use;
    ValueId value;
    uint32_t tie;
} TieUse;

typedef struct Ties {
    Model *m;
    Arena *arena;
    VEC(Tie) at;
    VEC(TieUse) uses;    // in the order of their values
    uint32_t *first_use; // by value: uses[first_use[v]] .. uses[first_use[v + 1] - 1]
    uint32_t *maker;     // by value: the tie that decides its dtype, UINT32_MAX if none is known
    uint32_t fixed[DT_COUNT];
    uint32_t nvalues;
} Ties;

enum { NO_TIE = UINT32_MAX };

// Those of the main graph and the graphs within, by the dtypes that inference found.
Ties *ties_of(Model *m, Arena *a);

// Its dtype as inferred, or as an initializer that inference did not come to has it.
DType ties_dtype(const Model *m, ValueId v);

#endif

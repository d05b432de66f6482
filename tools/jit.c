// LLVM's C API, reached through dlopen so that other commands start without it.

#include "tools/jit.h"

#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>

#include <string.h>

// The functions used, as X(name); their types are those of the headers.
#define LLVM_FUNCTIONS(X)                                                                          \
    X(LLVMCreateMemoryBufferWithContentsOfFile)                                                    \
    X(LLVMDisposeMessage)                                                                          \
    X(LLVMOrcCreateLLJIT)                                                                          \
    X(LLVMOrcDisposeLLJIT)                                                                         \
    X(LLVMOrcLLJITGetMainJITDylib)                                                                 \
    X(LLVMOrcLLJITGetGlobalPrefix)                                                                 \
    X(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess)                                        \
    X(LLVMOrcJITDylibAddGenerator)                                                                 \
    X(LLVMOrcLLJITAddObjectFile)                                                                   \
    X(LLVMOrcLLJITLookup)                                                                          \
    X(LLVMGetErrorMessage)                                                                         \
    X(LLVMDisposeErrorMessage)

typedef struct Llvm {
#define X(name) __typeof__(&(name)) name;
    LLVM_FUNCTIONS(X)
#undef X
} Llvm;

struct Jit {
    Arena *arena;
    Llvm llvm;
    LLVMOrcLLJITRef jit;
};

static bool load_llvm(Arena *a, Llvm *l, Str *error)
{
    static const char *const names[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"};
    void *lib = NULL;
    for (int i = 0; i < 3 && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        *error = STR("libLLVM 19 cannot be loaded (Debian package libllvm19)");
        return false;
    }
    const char *missing = NULL;
    void *at;
#define X(name)                                                                                    \
    at = dlsym(lib, #name);                                                                        \
    missing = at ? missing : #name;                                                                \
    memcpy(&l->name, &at, sizeof at);
    LLVM_FUNCTIONS(X)
#undef X
#if defined(__x86_64__)
#define TARGET "X86"
#elif defined(__aarch64__)
#define TARGET "AArch64"
#else
#define TARGET "unknown"
#endif
    static const char *const starts[] = {
        "LLVMInitialize" TARGET "TargetInfo", "LLVMInitialize" TARGET "Target",
        "LLVMInitialize" TARGET "TargetMC", "LLVMInitialize" TARGET "AsmPrinter",
        "LLVMInitialize" TARGET "AsmParser"};
    for (int i = 0; i < 5; i++) {
        void (*start)(void);
        at = dlsym(lib, starts[i]);
        memcpy(&start, &at, sizeof at);
        if (at)
            start();
        else
            missing = starts[i];
    }
    if (missing)
        *error = str_printf(a, "libLLVM has no %s", missing);
    return !missing;
}

static bool failed(Jit *j, LLVMErrorRef e, Str *error)
{
    if (!e)
        return false;
    char *message = j->llvm.LLVMGetErrorMessage(e);
    *error = str_printf(j->arena, "%s", message);
    j->llvm.LLVMDisposeErrorMessage(message);
    return true;
}

static bool add_object(Jit *j, const char *object, Str *error)
{
    Llvm *l = &j->llvm;
    LLVMMemoryBufferRef bytes;
    char *message = NULL;
    if (l->LLVMCreateMemoryBufferWithContentsOfFile(object, &bytes, &message)) {
        *error = str_printf(j->arena, "%s", message ? message : "an object that cannot be read");
        l->LLVMDisposeMessage(message);
        return false;
    }
    LLVMOrcJITDylibRef lib = l->LLVMOrcLLJITGetMainJITDylib(j->jit);
    return !failed(j, l->LLVMOrcLLJITAddObjectFile(j->jit, lib, bytes), error);
}

Jit *jit_load(Arena *a, const char *object, Str *error)
{
    Jit *j = NEW(a, Jit);
    j->arena = a;
    if (!load_llvm(a, &j->llvm, error) ||
        failed(j, j->llvm.LLVMOrcCreateLLJIT(&j->jit, NULL), error))
        return NULL;
    LLVMOrcDefinitionGeneratorRef process;
    char prefix = j->llvm.LLVMOrcLLJITGetGlobalPrefix(j->jit);
    if (failed(j,
               j->llvm.LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, prefix, NULL,
                                                                            NULL),
               error)) {
        jit_free(j);
        return NULL;
    }
    j->llvm.LLVMOrcJITDylibAddGenerator(j->llvm.LLVMOrcLLJITGetMainJITDylib(j->jit), process);
    if (!add_object(j, object, error)) {
        jit_free(j);
        return NULL;
    }
    return j;
}

void *jit_symbol(Jit *j, const char *name, Str *error)
{
    LLVMOrcExecutorAddress at = 0;
    if (failed(j, j->llvm.LLVMOrcLLJITLookup(j->jit, &at, name), error))
        return NULL;
    return (void *)(uintptr_t)at;
}

void jit_free(Jit *j)
{
    if (j && j->jit)
        j->llvm.LLVMOrcDisposeLLJIT(j->jit);
}

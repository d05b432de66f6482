// Units whose text is the same for all models, compiled when Cameo was built: products and tiles
// for some targets, main, and what reads and writes files.
//
// The folder is beside the program: units/, or ../lib/cameo/units/ where it is installed. A unit is
// an object named by a hash of its text and what that includes, the compiler's arguments, what the
// compiler says of itself and would run, and the files that it works with; where it is native code,
// of the machine too. What is not there is compiled with the model.
#ifndef CAMEO_CODEGEN_SHELF_H
#define CAMEO_CODEGEN_SHELF_H

#include "codegen/cpu/processor.h"
#include "codegen/toolchain.h"

// NULL: there is none.
const char *shelf_folder(Arena *a);
// The object that this command makes of this text; NULL: it is not there.
const char *shelf_find(Build *b, const char *const *argv, Str text);
// Sets b->kept of n of the build's processors, whose rows these are; false: there are not products
// and tiles for all of them.
bool shelf_products(Build *b, const Processor *rows, uint32_t first, uint32_t n);
// Compiles units for those of b->cpus that the compiler knows into the folder; of what is there
// those stay, and nothing else. 0, or the exit status with report->error set.
int shelf_fill(Build *b, const char *folder);

#endif

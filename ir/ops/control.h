// Control flow: If, Loop, Scan.
#ifndef CAMEO_IR_OPS_CONTROL_H
#define CAMEO_IR_OPS_CONTROL_H

#include "ir/lower.h"

// Is there a node in the body that every iteration fails at? It is reported then.
bool infer_body_fails(Infer *s, GraphId g);
void lower_if(Lower *l);
void lower_loop(Lower *l);
void lower_scan(Lower *l);       // since opset 9
void lower_scan_batch(Lower *l); // opset 8

#endif

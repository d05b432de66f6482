// Where nodes run and values lie.
//
// A node's device comes, in this order, from cameo.yaml (`place`), its metadata_props
// "cameo.device", the file's device_configurations, the target's kernel table. A node that none of
// them places is free: it runs where its operands lie, and a repair may choose. Graph inputs,
// weights and shape arithmetic lie wherever they are needed.
#ifndef CAMEO_PASSES_DEVICES_H
#define CAMEO_PASSES_DEVICES_H

#include "base/diag.h"
#include "ir/graph.h"

enum { DEVICE_HOST = 1 };

// Fills Node.device and Value.device, each with its why_device (of a value that follows another,
// `node` is where its device begins), by m->config. Types have to be inferred. Node.device stays 0
// for free nodes; Value.device is 0 for what lies anywhere.
void devices_place(Model *m);

// The device that the node is bound to; 0: it is free. Nodes inserted since devices_place count by
// their metadata.
DeviceId device_of_node(Model *m, NodeId n);
// Where the node runs: its own device, or that of its operands (the first that is not the host's
// wins); 0: anywhere.
DeviceId device_run(Model *m, NodeId n);
// Where the value lies; 0: anywhere.
DeviceId device_of_value(Model *m, ValueId v);

// A transfer in a file: an Identity that names the device of its result.
bool is_transfer(const Model *m, NodeId n);
// May there be one of this value? Identity takes sequences since opset 14, optional values since
// 16.
bool device_may_transfer(const Model *m, ValueId v);

// Is the operand read on another device than it lies on, though placement is explicit (cameo.yaml
// or metadata, at either end) and nothing transfers it? That is finding DV001.
bool device_crosses(Model *m, NodeId n, uint32_t operand);

// Has the operand to lie where the node runs? Sizes and axes need not, nor what a transfer reads.
bool device_matters(const Model *m, NodeId n, uint32_t operand);

// The node at which the value's device begins: the producer, or the placed node that it follows; 0:
// none.
NodeId device_origin(Model *m, ValueId v);

// "cameo.yaml:9 (place "/embed/*")", "its metadata "cameo.device"", "its kernel needs host inputs
// (target cuda-sm90)". Escaped.
Str device_reason(Model *m, NodeId n);

#endif

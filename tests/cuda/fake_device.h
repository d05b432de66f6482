/* fake_device.h: what the emulated libcublasLt asks of the emulated libcuda. Test only. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Puts a piece of work on a stream, or into the graph that the stream captures. `data` is copied.
 * Returns a CUresult. */
int cuemu_enqueue(void *stream, const char *name, void (*work)(void *data), const void *data,
                  size_t size);
/* The bytes behind a device address, checked and noted as read (0) or written (1). Called by `work`
 * only. */
void *cuemu_device_bytes(const void *device, size_t bytes, int write, const char *by);
/* Faults unless [device, device + bytes) is device memory. */
void cuemu_device_check(const void *device, size_t bytes, const char *by);
/* Whether any stream captures now. */
int cuemu_capturing(void);
/* Prints a fault and ends the process with status 3. */
void cuemu_library_fault(const char *what);
#ifdef __cplusplus
}
#endif

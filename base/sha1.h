// SHA-1 (FIPS 180-4): what ONNX takes as the checksum of a file of external data.
#ifndef CAMEO_BASE_SHA1_H
#define CAMEO_BASE_SHA1_H

#include <stddef.h>

// The digest of `len` bytes as 40 lower-case hexadecimal digits and a NUL.
void sha1_hex(const void *bytes, size_t len, char hex[41]);

#endif

// Writing JSON: commas and quoting are the writer's, nesting is the caller's.
#ifndef CAMEO_BASE_JSON_H
#define CAMEO_BASE_JSON_H

#include "base/str.h"

// Jansson, which reads JSON, has functions of these names: a program that links both must not have
// the one call the other's. A file includes this header or jansson.h.
#define json_object cameo_json_object
#define json_array cameo_json_array
#define json_null cameo_json_null

// Zero-initialise with `out` set: Json j = {.out = &buf}. Compact, one line.
typedef struct Json {
    Buf *out;
    bool comma; // something stands before the next element at this level
} Json;

void json_object(Json *j);     // {
void json_end_object(Json *j); // }
void json_array(Json *j);      // [
void json_end_array(Json *j);  // ]
void json_key(Json *j, const char *key);
void json_str(Json *j, Str s); // invalid UTF-8 becomes U+FFFD
void json_int(Json *j, int64_t v);
void json_num(Json *j, double v); // non-finite: null
void json_bool(Json *j, bool v);
void json_null(Json *j);
// A key with its value.
void json_put_str(Json *j, const char *key, Str v);
void json_put_int(Json *j, const char *key, int64_t v);
void json_put_bool(Json *j, const char *key, bool v);

#endif

// The decoder against hand-made bytes, and against protobuf-c's own unpack.
#include "frontend/decode.h"
#include "frontend/encode.h"
#include "frontend/onnx.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const DecodeLimits limits = {.max_depth = 100, .max_memory = 64 << 20};

typedef struct Test {
    Arena *keep, *scratch;
    DecodeError error;
} Test;

static int set_up(void **state)
{
    Test *t = calloc(1, sizeof *t);
    t->keep = arena_new();
    t->scratch = arena_new();
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    Test *t = *state;
    arena_free(t->keep);
    arena_free(t->scratch);
    free(t);
    return 0;
}

static ProtobufCMessage *decode(Test *t, const ProtobufCMessageDescriptor *type, Str bytes)
{
    t->error = (DecodeError){0};
    return decode_message(t->keep, t->scratch, type, bytes, &limits, &t->error);
}

// Decoded and encoded again it has the bytes that protobuf-c makes of it.
static void agree(Test *t, const ProtobufCMessageDescriptor *type, Str bytes)
{
    ProtobufCMessage *own = decode(t, type, bytes);
    ProtobufCMessage *oracle =
        protobuf_c_message_unpack(type, NULL, bytes.len, (const uint8_t *)bytes.at);
    assert_non_null(own);
    assert_non_null(oracle);
    Buf b = {0};
    const char *error;
    assert_true(encode_message(own, INT32_MAX, &b, &error));
    size_t n = protobuf_c_message_get_packed_size(oracle);
    unsigned char *expected = malloc(n + 1);
    protobuf_c_message_pack(oracle, expected);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.at ? b.at : "", expected, n);
    free(expected);
    protobuf_c_message_free_unpacked(oracle, NULL);
    buf_free(&b);
}

static void test_agrees_with_protobuf_c(void **state)
{
    Test *t = *state;
    // Scalars, the last of which counts; a negative int32 in ten bytes.
    agree(t, &onnx__tensor_proto__descriptor, STR("\x10\x01\x10\x07\x42\x01w\x42\x02ww"));
    agree(t, &onnx__tensor_proto__descriptor,
          STR("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x4a\x03\x01\x02\x03"));
    // int32_data packed, alone, packed again; dims likewise; floats in two pieces.
    agree(t, &onnx__tensor_proto__descriptor,
          STR("\x2a\x02\x01\x02\x28\x96\x01\x2a\x01\x05\x08\x03\x0a\x02\x04\x05"));
    agree(t, &onnx__tensor_proto__descriptor,
          STR("\x22\x04\x00\x00\x80\x3f\x25\x00\x00\x00\x40\x22\x00"));
    // One of two members: the last; a member that comes again after another starts afresh.
    agree(t, &onnx__tensor_shape_proto__dimension__descriptor, STR("\x08\x05\x12\x01n"));
    agree(t, &onnx__tensor_shape_proto__dimension__descriptor, STR("\x12\x01n\x08\x05"));
    // A message in pieces is one message: names from the last, nodes from all.
    agree(t, &onnx__model_proto__descriptor,
          STR("\x3a\x08\x12\x01g\x0a\x03\x0a\x01x\x08\x0a\x3a\x08\x12\x01h\x0a\x03\x0a\x01y"));
    // Unknown fields at the end, and one of a known number with another wire type.
    agree(t, &onnx__operator_set_id_proto__descriptor,
          STR("\x10\x11\x98\x3f\x01\xa2\x3f\x02\xab\xcd"));
    agree(t, &onnx__node_proto__descriptor, STR("\x0a\x00\x12\x01y\x22\x04Relu\x2a\x00"));
}

static void test_oneof_starts_afresh(void **state)
{
    Test *t = *state;
    // tensor_type with elem_type, then a sequence, then a tensor_type without: nothing is left.
    Str bytes = STR("\x0a\x02\x08\x01\x22\x00\x0a\x00");
    const Onnx__TypeProto *p =
        (const Onnx__TypeProto *)decode(t, &onnx__type_proto__descriptor, bytes);
    assert_non_null(p);
    assert_int_equal(p->value_case, ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE);
    assert_false(p->tensor_type->has_elem_type);
}

static void test_payloads_are_views(void **state)
{
    Test *t = *state;
    Str bytes = STR("\x4a\x03\x01\x02\x03\x42\x01w\x22\x04\x00\x00\x80\x3f");
    const Onnx__TensorProto *p =
        (const Onnx__TensorProto *)decode(t, &onnx__tensor_proto__descriptor, bytes);
    assert_non_null(p);
    assert_ptr_equal(p->raw_data.data, bytes.at + 2);
    assert_int_equal(p->raw_data.len, 3);
    assert_ptr_equal(p->name.data, bytes.at + 7);
    assert_int_equal(p->n_float_data, 1);
    assert_ptr_equal(p->float_data, bytes.at + 10);
}

static void test_nodes_know_their_place(void **state)
{
    Test *t = *state;
    Str bytes = STR("\x12\x01g\x0a\x03\x0a\x01x\x0a\x04\x22\x02Op");
    const Onnx__GraphProto *p =
        (const Onnx__GraphProto *)decode(t, &onnx__graph_proto__descriptor, bytes);
    assert_non_null(p);
    DecodeSpan span = decode_span(&p->node[1]->base);
    assert_int_equal(span.offset, 10);
    assert_int_equal(span.length, 4);
}

static void test_unknown_fields_are_runs(void **state)
{
    Test *t = *state;
    Str bytes = STR("\x98\x3f\x01\xb3\x3f\x08\x01\xb4\x3f\x10\x07\x98\x3f\x02");
    const ProtobufCMessage *p = decode(t, &onnx__operator_set_id_proto__descriptor, bytes);
    assert_non_null(p);
    assert_int_equal(p->n_unknown_fields, 2);
    assert_ptr_equal(p->unknown_fields[0].data, bytes.at);
    assert_int_equal(p->unknown_fields[0].len, 9);
    assert_ptr_equal(p->unknown_fields[1].data, bytes.at + 11);
}

static void refuse(Test *t, const ProtobufCMessageDescriptor *type, Str bytes, uint64_t offset,
                   const char *path)
{
    assert_null(decode(t, type, bytes));
    assert_false(t->error.limit);
    assert_int_equal(t->error.offset, offset);
    assert_true(str_is(t->error.path, path));
    assert_true(t->error.message.len > 0);
}

static void test_refusals_say_where(void **state)
{
    Test *t = *state;
    const ProtobufCMessageDescriptor *model = &onnx__model_proto__descriptor;
    refuse(t, model, STR("\x08"), 1, "");
    refuse(t, model, STR("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"), 1, "");
    refuse(t, model, STR("\x00\x01"), 0, "");
    refuse(t, model, STR("\x0f"), 0, "");
    refuse(t, model, STR("\x0c"), 0, "");
    refuse(t, model, STR("\x3a\x05\x00"), 0, "");
    refuse(t, model, STR("\x3a\x08\x0a\x06\x0a\x01x\x2a\x01\x08"), 10,
           "graph.node[0].attribute[0]");
    refuse(t, &onnx__tensor_proto__descriptor, STR("\x22\x03xyz"), 0, "");
    refuse(t, &onnx__tensor_proto__descriptor, STR("\x2a\x02\x01\x80"), 0, "");
}

static void test_limits(void **state)
{
    Test *t = *state;
    // Sequences of sequences: each level is two messages.
    unsigned char bytes[1024];
    size_t at = sizeof bytes;
    for (unsigned depth = 0; depth < 60; depth++) {
        size_t len = sizeof bytes - at;
        unsigned char head[8];
        size_t n = 0;
        for (int level = 0; level < 2; level++) {
            n = 0;
            head[n++] = level ? 0x22 : 0x0a;
            if (len >= 128) {
                head[n++] = (unsigned char)(len | 0x80);
                head[n++] = (unsigned char)(len >> 7);
            } else {
                head[n++] = (unsigned char)len;
            }
            at -= n;
            memcpy(bytes + at, head, n);
            len = sizeof bytes - at;
        }
    }
    Str deep = {(const char *)bytes + at, sizeof bytes - at};
    assert_null(decode(t, &onnx__type_proto__descriptor, deep));
    assert_true(t->error.limit);
    DecodeLimits more = {.max_depth = 121, .max_memory = 1 << 20};
    assert_non_null(
        decode_message(t->keep, t->scratch, &onnx__type_proto__descriptor, deep, &more, &t->error));
    more.max_memory = 4096;
    assert_null(
        decode_message(t->keep, t->scratch, &onnx__type_proto__descriptor, deep, &more, &t->error));
    assert_true(t->error.limit);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_agrees_with_protobuf_c),
        TEST(test_oneof_starts_afresh),
        TEST(test_payloads_are_views),
        TEST(test_nodes_know_their_place),
        TEST(test_unknown_fields_are_runs),
        TEST(test_refusals_say_where),
        TEST(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

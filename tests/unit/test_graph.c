// The graph's tables: edits, uses, order, locations, and the elements of constants.
#include "ir/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct Test {
    Arena *a;
    Model *m;
    ValueId x;
    NodeId relu, branch, inner, neg; // y = Relu(x); If { z = Neg(y) }; w = Neg(y)
    GraphId body;
} Test;

static Test test;

static int set_up(void **state)
{
    Arena *a = arena_new();
    Model *m = model_new(a);
    m->main = graph_new(m);
    test = (Test){.a = a, .m = m, .x = value_new(m, m->main, STR("x"))};
    value_at(m, test.x)->def = DEF_INPUT;
    vec_push(a, &graph_at(m, m->main)->inputs, ((ValueInfo){.value = test.x, .has = 1}));
    vec_push(a, &m->opsets, ((OpsetImport){.domain = STR("ai.onnx"), .version = 18}));
    test.relu = node_build(m, m->main, "Relu", &test.x, 1, STR("y"));
    node_at(m, test.relu)->name = STR("/act/Relu");
    ValueId y = node_at(m, test.relu)->out[0];
    test.branch = node_build(m, m->main, "If", &test.x, 1, STR("r"));
    node_at(m, test.branch)->position = 1;
    test.body = graph_new(m);
    graph_at(m, test.body)->parent = m->main;
    graph_at(m, test.body)->owner = test.branch;
    test.inner = node_build(m, test.body, "Neg", &y, 1, STR("z"));
    graph_append(m, test.body, test.inner);
    node_set_int(m, test.branch, "then_branch", 0);
    node_at(m, test.branch)->attrs[0].g = test.body;
    test.neg = node_build(m, m->main, "Neg", &y, 1, STR("w"));
    graph_append(m, m->main, test.relu);
    graph_append(m, m->main, test.branch);
    graph_append(m, m->main, test.neg);
    *state = &test;
    return 0;
}

static int tear_down(void **state)
{
    model_close(((Test *)*state)->m);
    arena_free(((Test *)*state)->a);
    return 0;
}

static void visit(void *context, NodeId n)
{
    buf_printf(context, "%u ", n);
}

static void expect_walk(const Test *t, const char *expected)
{
    Buf b = {0};
    graph_walk(t->m, t->m->main, visit, &b);
    assert_string_equal(b.at ? b.at : "", expected);
    buf_free(&b);
}

static void test_edits_keep_order(void **state)
{
    Test *t = *state;
    Model *m = t->m;
    expect_walk(t, "1 2 3 4 ");
    NodeId a = node_build(m, m->main, "Abs", &t->x, 1, STR_NONE);
    NodeId b = node_build(m, m->main, "Abs", &t->x, 1, STR_NONE);
    graph_insert_before(m, t->neg, a);
    graph_insert_first(m, m->main, b);
    expect_walk(t, "6 1 2 3 5 4 ");
    graph_remove(m, t->branch);
    expect_walk(t, "6 1 5 4 ");
    assert_true(node_at(m, t->branch)->dead);
}

static void test_uses_reach_into_graphs(void **state)
{
    Test *t = *state;
    ValueId y = node_at(t->m, t->relu)->out[0];
    Uses u = uses_of(t->m, t->a);
    assert_int_equal(u.first[y + 1] - u.first[y], 2);
    assert_int_equal(u.uses[u.first[y]].node, t->neg);
    assert_int_equal(u.uses[u.first[y] + 1].node, t->inner);
    graph_remove(t->m, t->branch); // its graph goes with it
    u = uses_of(t->m, t->a);
    assert_int_equal(u.first[y + 1] - u.first[y], 1);
}

static void test_sort_is_stable(void **state)
{
    Test *t = *state;
    Graph *g = graph_at(t->m, t->m->main);
    assert_true(model_sort(t->m, t->a));
    assert_false(g->unsorted);
    g->nodes.at[0] = t->neg; // neg, if, relu: both need relu, if by the graph inside it
    g->nodes.at[2] = t->relu;
    assert_true(model_sort(t->m, t->a));
    assert_true(g->unsorted);
    const NodeId expected[] = {t->relu, t->neg, t->branch};
    assert_memory_equal(g->nodes.at, expected, sizeof expected);
    node_at(t->m, t->relu)->in[0] = node_at(t->m, t->neg)->out[0];
    assert_false(model_sort(t->m, t->a));
    assert_memory_equal(g->nodes.at, expected, sizeof expected);
}

static void test_locations(void **state)
{
    Test *t = *state;
    assert_true(str_is(location_node(t->m, t->a, t->relu), "graph/node[/act/Relu]"));
    assert_true(str_is(location_operand(t->m, t->a, t->relu, 0), "graph/node[/act/Relu]:in0(x)"));
    assert_true(str_is(location_node(t->m, t->a, t->branch), "graph/node[#1 ->\"r\"]"));
    node_at(t->m, t->branch)->name = STR("If_0");
    assert_true(str_is(location_result(t->m, t->a, t->inner, 0),
                       "graph/If_0.then_branch/node[#0 ->\"z\"]:out0(z)"));
    assert_true(str_is(location_value(t->m, t->a, t->x), "graph/input(x)"));
    node_at(t->m, t->relu)->name = STR("a\n\"*/");
    assert_true(str_is(location_node(t->m, t->a, t->relu), "graph/node[a\\n\\\"*\\x2f]"));
}

static void test_opsets_and_attributes(void **state)
{
    Test *t = *state;
    assert_int_equal(opset_of(t->m, node_at(t->m, t->inner)), 18);
    node_at(t->m, t->inner)->domain = STR("my.ops");
    assert_int_equal(opset_of(t->m, node_at(t->m, t->inner)), 0);
    assert_false(node_is(node_at(t->m, t->inner), "Neg"));
    node_set_int(t->m, t->neg, "axis", 3);
    node_set_int(t->m, t->neg, "axis", -1);
    node_set_str(t->m, t->neg, "mode", STR("linear"));
    assert_int_equal(node_at(t->m, t->neg)->nattrs, 2);
    assert_int_equal(attr_find(node_at(t->m, t->neg), "axis")->i, -1);
    assert_null(attr_find(node_at(t->m, t->neg), "axes"));
    assert_int_equal(device_id(t->m, STR("host")), 1);
    assert_int_equal(device_id(t->m, STR("cuda:0")), 2);
    assert_int_equal(device_id(t->m, STR("cuda:0")), 2);
}

static void expect_elements(Test *t, TensorData d, int64_t n, const void *expected, size_t bytes)
{
    Str error = STR_NONE;
    d.rank = 1;
    d.dims = &n;
    const void *at = tensor_elements(t->m, &d, &error);
    assert_non_null(at);
    assert_memory_equal(at, expected, bytes);
}

static void test_packed_elements(void **state)
{
    Test *t = *state;
    expect_elements(t, (TensorData){.dtype = DT_I4, .payload = PAYLOAD_RAW, .raw = STR("\xf1\x08")},
                    3, (int8_t[]){1, -1, -8}, 3);
    expect_elements(t, (TensorData){.dtype = DT_U2, .payload = PAYLOAD_RAW, .raw = STR("\xe4\x02")},
                    5, (uint8_t[]){0, 1, 2, 3, 2}, 5);
    expect_elements(
        t, (TensorData){.dtype = DT_F6E2M3, .payload = PAYLOAD_RAW, .raw = STR("\x81\x30\x10")}, 4,
        (uint8_t[]){1, 2, 3, 4}, 4);
    const int32_t ints[] = {0x21, -1, 3};
    expect_elements(
        t, (TensorData){.dtype = DT_U4, .payload = PAYLOAD_INT32, .ints = ints, .count = 2}, 4,
        (uint8_t[]){1, 2, 15, 15}, 4);
    expect_elements(
        t, (TensorData){.dtype = DT_I16, .payload = PAYLOAD_INT32, .ints = ints, .count = 3}, 3,
        (int16_t[]){0x21, -1, 3}, 6);
    expect_elements(
        t, (TensorData){.dtype = DT_BOOL, .payload = PAYLOAD_INT32, .ints = ints, .count = 3}, 3,
        (uint8_t[]){1, 1, 1}, 3);
    const uint64_t wide[] = {7, UINT32_MAX};
    expect_elements(
        t, (TensorData){.dtype = DT_U32, .payload = PAYLOAD_UINT64, .ints = wide, .count = 2}, 2,
        (uint32_t[]){7, UINT32_MAX}, 8);
}

static void test_new_tensors_read_back(void **state)
{
    Test *t = *state;
    const int64_t dims[] = {5};
    const int8_t nibbles[] = {1, -1, 7, -8, 3};
    TensorData *d = tensor_new(t->a, DT_I4, 1, dims, nibbles);
    assert_int_equal(d->raw.len, 3);
    d->elements = NULL;
    Str error = STR_NONE;
    assert_memory_equal(tensor_elements(t->m, d, &error), nibbles, 5);
    const Str strings[] = {STR("a"), STR(""), STR("b\nc"), STR("d"), STR("e")};
    d = tensor_new(t->a, DT_STRING, 1, dims, strings);
    assert_true(str_eq(((const Str *)tensor_elements(t->m, d, &error))[2], strings[2]));
}

static void test_wrong_payloads_say_why(void **state)
{
    Test *t = *state;
    const int64_t dims[] = {2, 2};
    TensorData d = {.dtype = DT_F32, .rank = 2, .dims = dims, .payload = PAYLOAD_RAW};
    d.raw = STR("123456789012");
    Str error = STR_NONE;
    assert_null(tensor_elements(t->m, &d, &error));
    assert_true(str_is(error, "raw_data holds 12 bytes, but float32[2,2] needs 16 bytes"));
    const int64_t huge[] = {INT64_MAX, 4};
    d.dims = huge;
    assert_null(tensor_elements(t->m, &d, &error));
    assert_int_equal(tensor_count(&d), UINT64_MAX);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_edits_keep_order),      TEST(test_uses_reach_into_graphs),
        TEST(test_sort_is_stable),        TEST(test_locations),
        TEST(test_opsets_and_attributes), TEST(test_packed_elements),
        TEST(test_new_tensors_read_back), TEST(test_wrong_payloads_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

# SPDX-License-Identifier: Apache-2.0
"""op_host, compiled against the host mocks: what the operators register, infer and decide."""

import ctypes
import itertools

import pytest
from twin import kernel_on_twin as twin

from aot_build.twin import host_driver
from aot_build.twin.build_twin import OP_KERNEL
from mindspore_rnnt.kernels.signatures import ROW_DTYPES, ROWS, signatures_of
from mindspore_rnnt.tdt import limits


@pytest.fixture(scope="module")
def host():
    return host_driver.load()


def batch(logits=(20, 5), dtype="float32", B=2, max_u=3, params=True):
    """The inputs of an operator that takes the whole batch."""
    inputs = [(dtype, logits), ("int32", (B, max_u)), ("int32", (B,)), ("int32", (B,))]
    return [*inputs, ("float32", (8,))] if params else inputs


def inputs_of(op, rows=20, V=5, dtype="float32", B=2):
    logits, lengths = (dtype, (rows, V)), ("int32", (B,))
    labels, dloss, params = ("int32", (rows,)), ("float32", (B,)), ("float32", (8,))
    stats, state = ("float32", (rows, 4)), ("float32", (rows, 5))
    log_probs, durations = ("float32", (rows, V)), ("int32", (V,))
    return {
        "RnntLossFused": batch((rows, V), dtype, B, params=False),
        "RnntFused": batch((rows, V), dtype, B),
        "RnntScaleGrad": [logits, lengths, lengths, dloss],
        "RnntForward": batch((rows, V), dtype, B),
        "RnntBackward": [*batch((rows, V), dtype, B), state, dloss],
        "RnntRowStats": [logits, labels, params],
        "RnntLattice": [stats, lengths, lengths, params],
        "RnntTdtLattice": [stats, log_probs, lengths, lengths, durations, params],
        "RnntRowGrad": [
            *(logits, labels, stats),
            *(("float32", (rows, 3)), ("float32", (rows,)), params),
        ],
    }[op]


def attrs_of(op):
    return (-1, -1.0, True) if op == "RnntLossFused" else ()


SIGNATURES = signatures_of("Ascend")
OPERATORS = ["RnntLossFused", *SIGNATURES]
OPERATORS_WITH_A_LATTICE = [op for op in OPERATORS if "Lattice" in op] + [
    *("RnntLossFused", "RnntFused", "RnntForward")
]


def tile(host, op, inputs, attrs=None, cores=48, **more):
    attrs = attrs_of(op) if attrs is None else attrs
    decision = host.tile(op, inputs, attrs, vector_cores=cores, **more)
    assert len(decision.tiling) == ctypes.sizeof(twin.Tiling)
    return decision, twin.Tiling.from_buffer_copy(decision.tiling)


def columns(operands, signature_dtypes):
    """What each operand's list of data types must be."""
    single = all(dtype != ROWS for dtype in signature_dtypes)
    for operand, dtype in zip(operands, signature_dtypes):
        column = ["float32"] if single else ROW_DTYPES
        expected = [host_driver.DATA_TYPES[row if dtype == ROWS else dtype] for row in column]
        yield operand["data_types"], expected


def test_operators_are_those_of_the_table(host):
    assert sorted(host.operators()) == sorted(OPERATORS)


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=SIGNATURES)
def test_operands_match_the_table(host, signature):
    """Names, order, count and dtypes, as Python registers them with MindSpore."""
    op = host.operators()[signature.name]
    operands = [*op["inputs"], *op["outputs"]]
    expected = [*signature.inputs, *signature.outputs]
    assert [o["name"] for o in operands] == [o.name for o in expected]
    assert len(op["inputs"]) == len(signature.inputs)
    assert op["attrs"] == []
    for got, wanted in columns(operands, [operand.dtype for operand in expected]):
        assert got == wanted
    assert all(o["required"] and set(o["formats"]) == {2} for o in operands)
    assert all(len(o["formats"]) == len(o["data_types"]) for o in operands)
    assert all(o["contiguous"] for o in op["inputs"])


def test_the_attribute_form_is_the_fused_operator_without_params(host):
    fused, attribute = host.operators()["RnntFused"], host.operators()["RnntLossFused"]
    assert attribute["inputs"] == fused["inputs"][:4]
    assert attribute["outputs"] == fused["outputs"]
    attrs = [(a["name"], a["type"], a["required"]) for a in attribute["attrs"]]
    assert attrs == [
        ("blank", "int", False),
        ("clamp", "float", False),
        ("fused_log_softmax", "bool", False),
    ]
    assert [float(a["default"]) for a in attribute["attrs"][:2]] == [-1.0, -1.0]
    assert attribute["attrs"][2]["default"] == "true"


@pytest.mark.parametrize("op", OPERATORS)
def test_chips(host, op):
    configs = host.operators()[op]["configs"]
    assert sorted(configs) == ["ascend910_93", "ascend910b"]
    for config in configs.values():
        assert config["dynamicShapeSupport.flag"] == config["dynamicRankSupport.flag"] == "true"
        assert config["precision_reduce.flag"] == "false", "a loss is not computed in float16"


@pytest.mark.parametrize("op, dtype", itertools.product(OPERATORS, ROW_DTYPES))
@pytest.mark.parametrize("cores", [20, 40, 48])
def test_tiling_of_every_operator(host, op, dtype, cores):
    V = 5 if op == "RnntTdtLattice" else 50
    decision, tiling = tile(host, op, inputs_of(op, rows=40800, V=V, dtype=dtype, B=4), cores=cores)
    has_lattice = op in OPERATORS_WITH_A_LATTICE
    assert 1 <= decision.block_dim <= cores
    assert decision.schedule_mode == has_lattice, "cores that wait for each other start together"
    assert (decision.workspace > host_driver.SYSTEM_WORKSPACE) == has_lattice
    assert (decision.workspace == 0) == (not has_lattice)
    assert tiling.rows == 40800 and tiling.padded == 0
    assert (0 if op == "RnntLattice" else V) == tiling.V
    assert (0 if op in ("RnntRowStats", "RnntRowGrad") else 4) == tiling.B
    with_targets = op in ("RnntLossFused", "RnntFused", "RnntForward", "RnntBackward")
    assert tiling.max_u == (3 if with_targets else twin.NO_TARGETS)
    assert tiling.reserved == 0


@pytest.mark.parametrize("cores", [20, 40, 48])
def test_a_large_batch_takes_all_cores_and_a_tiny_one_few(host, cores):
    large, _ = tile(host, "RnntFused", batch((404000, 500), B=8), cores=cores)
    tiny, _ = tile(host, "RnntFused", batch((20, 5)), cores=cores)
    assert large.block_dim == cores
    assert tiny.block_dim == 4  # a core for alpha and one for beta of each sample


def test_padded_logits(host):
    _, tiling = tile(host, "RnntFused", batch((2, 7, 4, 5)))
    assert (tiling.rows, tiling.V) == (56, 5)
    assert (tiling.padded, tiling.max_t, tiling.max_u1) == (1, 7, 4)


def test_rows_of_any_leading_shape(host):
    labels, params = ("int32", (2, 7, 4)), ("float32", (8,))
    inputs = [("float32", (2, 7, 4, 5)), labels, params]
    _, tiling = tile(host, "RnntRowStats", inputs)
    assert (tiling.rows, tiling.V, tiling.padded) == (56, 5, 0)
    stats, coefficients = ("float32", (2, 7, 4, 4)), ("float32", (2, 7, 4, 3))
    inputs[2:] = [stats, coefficients, ("float32", (2, 7, 4)), params]
    _, tiling = tile(host, "RnntRowGrad", inputs)
    assert (tiling.rows, tiling.V, tiling.padded) == (56, 5, 0)
    lengths = ("int32", (2,))
    _, tiling = tile(host, "RnntLattice", [stats, lengths, lengths, params])
    assert (tiling.rows, tiling.padded) == (56, 1)
    assert (tiling.max_t, tiling.max_u1) == (7, 4)


def test_stats_and_durations(host):
    lengths, params = ("int32", (2,)), ("float32", (8,))
    stats, log_probs = ("float32", (2, 7, 4, 4)), ("float32", (2, 7, 4, 6))
    inputs = [stats, log_probs, lengths, lengths, ("int32", (6,)), params]
    _, tiling = tile(host, "RnntTdtLattice", inputs)
    assert (tiling.rows, tiling.V, tiling.padded) == (56, 6, 1)
    assert (tiling.max_t, tiling.max_u1) == (7, 4)


def test_limits_of_durations_are_those_that_python_refuses():
    header = (OP_KERNEL / "rnnt_tdt_sizes.h").read_text()
    for name, value in (
        ("kRnntTdtMaxDurations", limits.ASCEND_MOST_DURATIONS),
        ("kRnntTdtMaxDuration", limits.ASCEND_LONGEST_DURATION),
    ):
        assert f"constexpr int32_t {name} = {value};" in header


def test_rows_beyond_int32(host):
    _, tiling = tile(host, "RnntForward", batch((2**33, 4), B=1, max_u=0))
    assert tiling.rows == 2**33


@pytest.mark.parametrize("blank", [-5, -1, 0, 4])
def test_attributes_reach_the_kernel(host, blank):
    inputs = batch(params=False)
    _, tiling = tile(host, "RnntLossFused", inputs, (blank, 0.25, False))
    assert (tiling.blank, tiling.clamp, tiling.fused_log_softmax) == (blank, 0.25, 0)


@pytest.mark.parametrize(
    "op, inputs, message",
    [
        ("RnntFused", batch((20,)), "'logits' must be of rank 2 or 4, but got shape (20)"),
        ("RnntFused", batch((0, 5)), "'logits' must be not empty, but got shape (0, 5)"),
        (
            "RnntFused",
            batch((3, 7, 4, 5)),
            "'logit_lengths' must be of shape (3), but got shape (2)",
        ),
        (
            "RnntForward",
            [*batch()[:1], ("int32", (3, 3)), *batch()[2:]],
            "'targets' must be of shape (2, max_U), but got shape (3, 3)",
        ),
        (
            "RnntForward",
            [*batch()[:3], ("int32", (3,)), *batch()[4:]],
            "'target_lengths' must be of shape (2), but got shape (3)",
        ),
        (
            "RnntFused",
            [*batch(params=False), ("float32", (6,))],
            "'params' must be of shape (8), but got shape (6)",
        ),
        (
            "RnntBackward",
            [*batch(), ("float32", (19, 5)), ("float32", (2,))],
            "'state' must be of shape (20, 5), but got shape (19, 5)",
        ),
        (
            "RnntBackward",
            [*batch(), ("float32", (20, 5)), ("float32", (1,))],
            "'dloss' must be of shape (2), but got shape (1)",
        ),
        (
            "RnntRowStats",
            [("float16", (7,)), ("int32", ()), ("float32", (8,))],
            "'logits' must be of rank 2 or more, but got shape (7)",
        ),
        (
            "RnntRowStats",
            [("float16", (4, 5, 6, 7)), ("int32", (120,)), ("float32", (8,))],
            "'row_labels' must be of shape (4, 5, 6), but got shape (120)",
        ),
        (
            "RnntLattice",
            [("float32", (2, 5, 4, 3)), ("int32", (2,)), ("int32", (2,)), ("float32", (8,))],
            "'stats' must be of shape (2, 5, 4, 4), but got shape (2, 5, 4, 3)",
        ),
        (
            "RnntTdtLattice",
            [*inputs_of("RnntTdtLattice")[:4], ("int32", (0,)), ("float32", (8,))],
            "'durations' must be of shape (D,) with D from 1 to 32, but got shape (0)",
        ),
        (
            "RnntTdtLattice",
            inputs_of("RnntTdtLattice", V=33),
            "'durations' must be of shape (D,) with D from 1 to 32, but got shape (33)",
        ),
        (
            "RnntTdtLattice",
            [*inputs_of("RnntTdtLattice")[:4], ("int32", (4,)), ("float32", (8,))],
            "'duration_log_probs' must be of shape (20, 4), but got shape (20, 5)",
        ),
        (
            "RnntFused",
            batch((1, 2**31)),
            "'logits' must be of sizes below 2^31, but got 2147483648",
        ),
    ],
)
def test_tiling_names_the_operand_that_does_not_fit(host, capfd, op, inputs, message):
    with pytest.raises(host_driver.HostError):
        tile(host, op, inputs)
    assert capfd.readouterr().err == f"For '{op}', the {message}.\n"


@pytest.mark.parametrize("blank", [-6, 5])
def test_tiling_refuses_a_blank_that_is_no_class(host, capfd, blank):
    with pytest.raises(host_driver.HostError):
        tile(host, "RnntLossFused", batch(params=False), (blank, -1.0, True))
    message = f"For 'RnntLossFused', the 'blank' must be in [-5, 5), but got {blank}.\n"
    assert capfd.readouterr().err == message


def test_tiling_refuses_a_chip_with_too_small_a_buffer(host, capfd):
    with pytest.raises(host_driver.HostError):
        tile(host, "RnntFused", batch(), ub_bytes=128 * 1024)
    assert "'chip' must be one with 188160 B of unified buffer" in capfd.readouterr().err


LENGTHS = [
    [(1, 0)],
    [(1, 0), (1, 5)],
    [(1, 3000)],
    [(200, 50)] * 4,
    [(5000, 2), (1, 0), (3, 40)],
    [(7, 1500), (90, 20)],
    [(2, 1), (2, 1), (2, 1000)],
    [(1, 2047), (1, 0)],
    [(1, 0)] * 300,
    [(1100, 1300), (1, 0)],
    [(1024, 5000), (3, 900)],
    [(1023, 9000)],
    [(5000, 5000)],
]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("padded", [False, True])
def test_the_workspace_holds_any_lengths_of_its_shapes(host, lengths, padded):
    """The host knows shapes only; extra room in targets or padding must not break the bound."""
    used = 4 * sum(twin.schedule().SampleFloats(T, U + 1) for T, U in lengths)
    max_t, max_u = (max(sizes) for sizes in zip(*lengths))
    B, V = len(lengths), 3
    for room in (0, 7):
        rows = sum(T * (U + 1) for T, U in lengths)
        logits = (B, max_t + room, max_u + 1 + room, V) if padded else (rows, V)
        decision, _ = tile(host, "RnntFused", batch(logits, B=B, max_u=max_u + room))
        bound = decision.workspace - host_driver.SYSTEM_WORKSPACE
        print(f"used {used}, bound {bound}")
        assert bound >= used
    if not padded:  # RnntLattice has no targets that would bound U
        inputs = [("float32", (rows, 4)), ("int32", (B,)), ("int32", (B,)), ("float32", (8,))]
        decision, _ = tile(host, "RnntLattice", inputs)
        assert decision.workspace - host_driver.SYSTEM_WORKSPACE >= used

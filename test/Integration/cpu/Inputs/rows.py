# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Each thing that a kernel may hold, in blocks of odd sizes, against a scalar reference:
#
#   rows.py GPU_RUNNER DEVICE [-O3] [--subgroup-size=16]
#
# With a subgroup size only the rows that depend on it.
# A row is the body of a kernel, which makes the i32 (or f32) %r of its thread, and what
# the threads of a block make of it: a function of their numbers, all their inputs and
# the block's size.

import math
import os
import struct
import subprocess
import sys
import tempfile

import threadplace

BLOCKS = [(1, 1, 1), (3, 1, 1), (31, 1, 1), (33, 1, 1), (35, 1, 1), (256, 1, 1), (7, 5, 3), (3, 11, 2)]
KNOWN = (256, 1, 1)  # the only one for kernels that promise it
WS = "#gpu.address_space<workgroup>"
M32 = 0xFFFFFFFF
# Threads in a subgroup.
SUBGROUP = next((int(o.split("=")[1]) for o in sys.argv if o.startswith("--subgroup-size=")), 32)
# kind: exact, or the largest relative error of an f32.
ROWS = []


def row(name, body, reference, error=None, attributions="", cuda=True):
    ROWS.append((name, body, reference, error, attributions, cuda))


def s32(value):
    value &= M32
    return value - (1 << 32) if value >> 31 else value


def s8(value):
    return (value + 128) % 256 - 128


def lanes(t, n):
    first = t - t % SUBGROUP
    return range(first, min(first + SUBGROUP, n))


def fold(combine, values):
    values = list(values)
    result = values[0]
    for value in values[1:]:
        result = combine(result, value)
    return result


COMBINE = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b & M32, "minui": lambda a, b: min(a & M32, b & M32),
           "maxui": lambda a, b: max(a & M32, b & M32), "minsi": min, "maxsi": max, "and": lambda a, b: a & b,
           "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}

for name, combine in COMBINE.items():
    row("all_reduce_" + name, "%%r = gpu.all_reduce %s %%v {} : (i32) -> (i32)" % name,
        lambda t, v, n, combine=combine: fold(combine, v), cuda=False)
    row("subgroup_reduce_" + name, "%%r = gpu.subgroup_reduce %s %%v : (i32) -> (i32)" % name,
        lambda t, v, n, combine=combine: fold(combine, (v[i] for i in lanes(t, n))), cuda=False)
for name, combine in {"add": lambda a, b: a + b, "minnumf": min, "maxnumf": max, "minimumf": min, "maximumf": max}.items():
    row("all_reduce_f32_" + name, "%%r = gpu.all_reduce %s %%f {} : (f32) -> (f32)" % name,
        lambda t, v, n, combine=combine: fold(combine, v), 0, cuda=False)
row("all_reduce_region", """%r = gpu.all_reduce %v {
      ^bb0(%a: i32, %b: i32):
        %both = arith.xori %a, %b : i32
        gpu.yield %both : i32
      } : (i32) -> (i32)""", lambda t, v, n: fold(COMBINE["xor"], v), cuda=False)
for size, stride in ((4, 2), (2, 1), (1, 8), (SUBGROUP, 1), (SUBGROUP // 2, 2)):
    if 0 < size * stride <= SUBGROUP:
        row("subgroup_reduce_cluster_%d_%d" % (size, stride),
            "%%r = gpu.subgroup_reduce add %%v cluster(size = %d, stride = %d) : (i32) -> (i32)" % (size, stride),
            lambda t, v, n, piece=size * stride, stride=stride: sum(
                v[i] for i in lanes(t, n) if i % SUBGROUP // piece == t % SUBGROUP // piece and i % stride == t % stride),
            cuda=False)


def shuffled(source):
    def reference(t, v, n):
        lane = source(t % SUBGROUP)
        other = t - t % SUBGROUP + lane
        return v[other] + 1 if 0 <= lane < SUBGROUP and other < n else v[t] + (0 <= lane < SUBGROUP)
    return reference


MODES = {"xor": lambda l: l ^ 5, "up": lambda l: l - 5, "down": lambda l: l + 5, "idx": lambda l: 5}
for mode, source in MODES.items():
    row("shuffle_" + mode, """%%five = arith.constant 5 : i32
      %%width = arith.constant %d : i32
      %%s, %%valid = gpu.shuffle %s %%v, %%five, %%width : i32
      %%one = arith.extui %%valid : i1 to i32
      %%r = arith.addi %%s, %%one : i32""" % (SUBGROUP, mode), shuffled(source), cuda=False)
    # Of subgroups of which the compiler knows that they are whole the block permutes vectors.
    for type, there, back in (("i8", "trunci", "extsi"), ("i64", "extsi", "trunci")):
        row("shuffle_known_%s_%s" % (mode, type), """%%five = arith.constant 5 : i32
      %%width = arith.constant %d : i32
      %%a = arith.%s %%v : i32 to %s
      %%s, %%valid = gpu.shuffle %s %%a, %%five, %%width : %s
      %%one = arith.extui %%valid : i1 to i32
      %%b = arith.%s %%s : %s to i32
      %%r = arith.addi %%b, %%one : i32""" % (SUBGROUP, there, type, mode, type, back, type),
            lambda t, v, n, type=type, of=shuffled(source): of(t, [s8(x) for x in v] if type == "i8" else v, n), cuda=False)
# A width that the compiler does not know, and that may be more than there is.
row("shuffle_wide", """%five = arith.constant 5 : i32
      %width = arith.index_cast %n : index to i32
      %s, %valid = gpu.shuffle xor %v, %five, %width : i32
      %one = arith.extui %valid : i1 to i32
      %r = arith.addi %s, %one : i32""",
    lambda t, v, n: v[t ^ 5] + 1 if max(t % SUBGROUP, t % SUBGROUP ^ 5) < min(n, SUBGROUP) and t ^ 5 < n else v[t] + (
        max(t % SUBGROUP, t % SUBGROUP ^ 5) < min(n, SUBGROUP)), cuda=False)
if SUBGROUP > 1:
    row("rotate", """%s, %valid = gpu.rotate %v, 1, 2 : i32
      %two = arith.constant 2 : index
      %lane = gpu.lane_id
      %in2 = arith.cmpi ult, %lane, %two : index
      %last = arith.subi %n, %two : index
      %ok = arith.cmpi slt, %lin, %last : index
      %use = arith.andi %in2, %ok : i1
      %r = arith.select %use, %s, %v : i32""",
        lambda t, v, n: v[t ^ 1] if t % SUBGROUP < 2 and t < n - 2 else v[t], cuda=False)
row("rotate_all", """%%s, %%valid = gpu.rotate %%v, %d, %d : i32
      %%bit = arith.extui %%valid : i1 to i32
      %%r = arith.addi %%s, %%bit : i32""" % (SUBGROUP - 1, SUBGROUP),
    lambda t, v, n: (v[o] if (o := t - t % SUBGROUP + (t + SUBGROUP - 1) % SUBGROUP) < n else v[t]) + 1, cuda=False)
row("broadcast", """%zero = arith.constant 0 : i32
      %a = gpu.subgroup_broadcast %v, specific_lane %zero : i32
      %b = gpu.subgroup_broadcast %v, first_active_lane : i32
      %r = arith.addi %a, %b : i32""", lambda t, v, n: 2 * v[t - t % SUBGROUP], cuda=False)
row("broadcast_last", """%%lane = arith.constant %d : i32
      %%r = gpu.subgroup_broadcast %%v, specific_lane %%lane : i32""" % (SUBGROUP - 1),
    lambda t, v, n: v[o] if (o := t - t % SUBGROUP + SUBGROUP - 1) < n else v[t], cuda=False)
row("ids", """%lane = gpu.lane_id
      %sub = gpu.subgroup_id : index
      %subs = gpu.num_subgroups : index
      %size = gpu.subgroup_size : index
      %a = arith.muli %sub, %size : index
      %b = arith.addi %a, %lane : index
      %c = arith.muli %b, %size : index
      %d = arith.addi %c, %subs : index
      %r = arith.index_cast %d : index to i32""", lambda t, v, n: t * SUBGROUP + (n + SUBGROUP - 1) // SUBGROUP)
SUBGROUP_ROWS = ("subgroup_reduce_add", "subgroup_reduce_cluster", "shuffle_", "rotate", "broadcast", "ids")

OTHER = """%c7 = arith.constant 7 : index
      %next = arith.addi %lin, %c7 : index
      %other = arith.remui %next, %n : index
"""
row("workgroup", OTHER + """      memref.store %v, %w[%lin] : memref<256xi32, WS>
      gpu.barrier
      %r = memref.load %w[%other] : memref<256xi32, WS>""", lambda t, v, n: v[(t + 7) % n],
    attributions=" workgroup(%w: memref<256xi32, WS>)")
row("private", OTHER + """      %zero = arith.constant 0 : index
      memref.store %v, %p[%zero] : memref<3xi32, #gpu.address_space<private>>
      gpu.barrier
      %r = memref.load %p[%zero] : memref<3xi32, #gpu.address_space<private>>""", lambda t, v, n: v[t],
    attributions=" private(%p: memref<3xi32, #gpu.address_space<private>>)")
row("dynamic", OTHER + """      %zero = arith.constant 0 : index
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, WS>
      %w = memref.view %bytes[%zero][%n] : memref<?xi8, WS> to memref<?xi32, WS>
      memref.store %v, %w[%lin] : memref<?xi32, WS>
      gpu.barrier
      %r = memref.load %w[%other] : memref<?xi32, WS>""", lambda t, v, n: v[(t + 7) % n])

ATOMIC = """%%zero = arith.constant 0 : index
      %%first = arith.cmpi eq, %%lin, %%zero : index
      scf.if %%first {
        %%start = arith.constant %(start)s : %(type)s
        memref.store %%start, %%w[%%zero] : memref<1x%(type)s, WS>
      }
      gpu.barrier
      %(op)s
      gpu.barrier
      %%r = memref.load %%w[%%zero] : memref<1x%(type)s, WS>"""


def atomic(name, type, start, op, reference, cuda=True):
    row("atomic_" + name, ATOMIC % {"start": start, "type": type, "op": op}, lambda t, v, n: reference(v),
        0 if type == "f32" else None, " workgroup(%%w: memref<1x%s, WS>)" % type, cuda)


for name, start, reference in (("addi", 3, lambda v: sum(v) + 3), ("andi", -1, lambda v: fold(COMBINE["and"], v)),
                               ("ori", 0, lambda v: fold(COMBINE["or"], v)), ("maxs", -5, lambda v: max(v + [-5])),
                               ("mins", 500, lambda v: min(v + [500])), ("maxu", 3, lambda v: max(x & M32 for x in v + [3])),
                               ("minu", 500, lambda v: min(x & M32 for x in v + [500]))):
    atomic(name, "i32", start, "%%old = memref.atomic_rmw %s %%v, %%w[%%zero] : (i32, memref<1xi32, WS>) -> i32" % name, reference)
atomic("addf", "f32", "0.0", "%old = memref.atomic_rmw addf %f, %w[%zero] : (f32, memref<1xf32, WS>) -> f32", sum)
for name, reference in (("maximumf", max), ("minimumf", min)):
    atomic(name, "f32", "0.0", "%%old = memref.atomic_rmw %s %%f, %%w[%%zero] : (f32, memref<1xf32, WS>) -> f32" % name,
           lambda v, reference=reference: reference(v + [0]), cuda=False)
atomic("assign", "i32", 0, """%same = arith.constant 77 : i32
      %old = memref.atomic_rmw assign %same, %w[%zero] : (i32, memref<1xi32, WS>) -> i32""", lambda v: 77)
atomic("generic", "i32", 1, """%old = memref.generic_atomic_rmw %w[%zero] : memref<1xi32, WS> {
      ^bb0(%now: i32):
        %new = arith.xori %now, %v : i32
        memref.atomic_yield %new : i32
      }""", lambda v: fold(COMBINE["xor"], [1] + v))
atomic("generic_f32", "f32", "1.0", """%old = memref.generic_atomic_rmw %w[%zero] : memref<1xf32, WS> {
      ^bb0(%now: f32):
        %new = arith.addf %now, %f : f32
        memref.atomic_yield %new : f32
      }""", lambda v: sum(v) + 1)
atomic("llvm", "i32", 1, """%index = memref.extract_aligned_pointer_as_index %w : memref<1xi32, WS> -> index
      %number = arith.index_cast %index : index to i64
      %address = llvm.inttoptr %number : i64 to !llvm.ptr<3>
      %old = llvm.atomicrmw add %address, %v monotonic : !llvm.ptr<3>, i32
      %seven = llvm.mlir.constant(-7 : i32) : i32
      %pair = llvm.cmpxchg %address, %seven, %seven acq_rel monotonic : !llvm.ptr<3>, i32""", lambda v: sum(v) + 1)

for name, function, error in (("exp", lambda x: math.exp(x / 1000), 3e-6), ("sin", lambda x: math.sin(x / 1000), 3e-6),
                              ("sqrt", lambda x: math.sqrt(abs(x / 1000)), 1e-6), ("tanh", lambda x: math.tanh(x / 1000), 3e-6),
                              ("log1p", lambda x: math.log1p(abs(x / 1000)), 3e-6)):
    row("math_" + name, """%%k = arith.constant 1000.0 : f32
      %%scaled = arith.divf %%f, %%k : f32
      %%a = math.absf %%scaled : f32
      gpu.barrier
      %%r = math.%s %%%s : f32""" % (name, "a" if name in ("sqrt", "log1p") else "scaled"),
        lambda t, v, n, function=function: function(v[t]), error)
row("complex", """%two = arith.constant 2.0 : f32
      %a = complex.create %f, %two : complex<f32>
      gpu.barrier
      %b = complex.mul %a, %a : complex<f32>
      %r = complex.re %b : complex<f32>""", lambda t, v, n: v[t] * v[t] - 4, 0)
row("vector_transfer", OTHER + """      memref.store %v, %w[%lin] : memref<256xi32, WS>
      gpu.barrier
      %zero = arith.constant 0 : i32
      %part = memref.subview %w[0] [%n] [1] : memref<256xi32, WS> to memref<?xi32, strided<[1]>, WS>
      %four = vector.transfer_read %part[%other], %zero : memref<?xi32, strided<[1]>, WS>, vector<4xi32>
      %r = vector.reduction <add>, %four : vector<4xi32> into i32""",
    lambda t, v, n: sum(v[(t + 7) % n:(t + 7) % n + 4]), attributions=" workgroup(%w: memref<256xi32, WS>)")
row("vector_mask", OTHER + """      memref.store %v, %w[%lin] : memref<256xi32, WS>
      gpu.barrier
      %minus = arith.constant -1 : i32
      %three = arith.constant 3 : index
      %upto = arith.remui %lin, %three : index
      %mask = vector.create_mask %upto : vector<4xi1>
      %part = memref.subview %w[0] [%n] [1] : memref<256xi32, WS> to memref<?xi32, strided<[1]>, WS>
      %four = vector.transfer_read %part[%other], %minus, %mask : memref<?xi32, strided<[1]>, WS>, vector<4xi32>
      %r = vector.reduction <add>, %four : vector<4xi32> into i32""",
    lambda t, v, n: sum(v[(t + 7) % n + i] if i < t % 3 and (t + 7) % n + i < n else -1 for i in range(4)),
    attributions=" workgroup(%w: memref<256xi32, WS>)")
for type in ("f16", "bf16"):
    # What is small enough is exact.
    row(type, """%%k = arith.constant 3 : i32
      %%few = arith.andi %%v, %%k : i32
      %%small = arith.sitofp %%few : i32 to f32
      %%a = arith.truncf %%small : f32 to %s
      gpu.barrier
      %%b = arith.addf %%a, %%a : %s
      %%r = arith.extf %%b : %s to f32""" % (type, type, type), lambda t, v, n: 2 * (v[t] & 3), 0)
for type in ("f8E5M2", "f8E4M3FN", "f8E3M4", "f8E4M3FNUZ"):
    small = """%%k = arith.constant 3 : i32
      %%few = arith.andi %%v, %%k : i32
      %%a = arith.sitofp %%few : i32 to %s
      """ % type
    row(type, small + """gpu.barrier
      %%b = arith.addf %%a, %%a : %s
      %%r = arith.extf %%b : %s to f32""" % (type, type), lambda t, v, n: 2 * (v[t] & 3), 0, cuda=False)
    row("all_reduce_" + type, small + """%%b = gpu.all_reduce maximumf %%a {} : (%s) -> (%s)
      %%r = arith.extf %%b : %s to f32""" % (type, type, type), lambda t, v, n: max(x & 3 for x in v), 0, cuda=False)
    row("workgroup_" + type, OTHER + "      " + small + """memref.store %%a, %%w[%%lin] : memref<256x%s, WS>
      gpu.barrier
      %%b = memref.load %%w[%%other] : memref<256x%s, WS>
      %%r = arith.extf %%b : %s to f32""" % (type, type, type), lambda t, v, n: v[(t + 7) % n] & 3, 0,
        " workgroup(%%w: memref<256x%s, WS>)" % type, cuda=False)
    atomic_op = "%%old = memref.atomic_rmw maximumf %%a, %%w[%%zero] : (%s, memref<1x%s, WS>) -> %s" % (type, type, type)
    row("atomic_" + type, small + (ATOMIC % {"start": "-1.0", "type": type, "op": atomic_op}).replace("%r =", "%small =")
        + "\n      %%r = arith.extf %%small : %s to f32" % type, lambda t, v, n: max(x & 3 for x in v), 0,
        " workgroup(%%w: memref<1x%s, WS>)" % type, cuda=False)


# Ops of nvvm about warps. A shuffle within pieces of the warp: what PTX says, as a lane
# and whether it is in the piece.
def piece(kind, lane, by, control):
    mask, clamp = control >> 8 & 31, control & 31
    first = lane & mask
    last = first | clamp & ~mask
    source = {"bfly": lane ^ by, "up": lane - by, "down": lane + by, "idx": first | by & ~mask}[kind]
    valid = source >= last if kind == "up" else source <= last
    return (source if valid else lane), valid


def shuffledPiece(kind, by, control, come=lambda lane: True):
    def reference(t, v, n):
        if not come(t % 32):
            return v[t]
        source, valid = piece(kind, t % 32, by, control)
        other = t - t % 32 + source
        return (v[other] if other < n else v[t]) + 1000 * valid
    return reference


SHFL = """%%by = arith.constant %d : i32
      %%control = arith.constant %d : i32
      %%pair = nvvm.shfl.sync %s %%all, %%v, %%by, %%control {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
      %%s = llvm.extractvalue %%pair[0] : !llvm.struct<(i32, i1)>
      %%valid = llvm.extractvalue %%pair[1] : !llvm.struct<(i32, i1)>
      %%bit = arith.extui %%valid : i1 to i32
      %%thousand = arith.constant 1000 : i32
      %%more = arith.muli %%bit, %%thousand : i32
"""
ALL = "%all = arith.constant -1 : i32\n      "
for kind in ("bfly", "up", "down", "idx"):
    # Of the offset the five lowest bits count.
    for width, by in ((8, 3), (32, 37)):
        control = (32 - width) << 8 | (0 if kind == "up" else 31)
        row("nvvm_shfl_%s_%d" % (kind, width), ALL + SHFL % (by, control, kind) + "      %r = arith.addi %s, %more : i32",
            shuffledPiece(kind, by % 32, control), cuda=False)
row("nvvm_shfl_computed", ALL + """%control = arith.constant 31 : i32
      %r = nvvm.shfl.sync idx %all, %v, %v, %control : i32 -> i32""",
    lambda t, v, n: v[o] if (o := t - t % 32 + v[t] % 32) < n else v[t], cuda=False)
# The first lanes only, each with the mask that names them.
for kind, count in (("bfly", 16), ("down", 5), ("idx", 1)):
    body = SHFL % (1 if count > 1 else 0, 31, kind)
    row("nvvm_shfl_%s_first_%d" % (kind, count), """%%lane = nvvm.read.ptx.sreg.laneid : i32
      %%count = arith.constant %d : i32
      %%comes = arith.cmpi ult, %%lane, %%count : i32
      %%r = scf.if %%comes -> i32 {
      %%all = arith.constant %d : i32
      %s      %%q = arith.addi %%s, %%more : i32
      scf.yield %%q : i32
      } else {
      scf.yield %%v : i32
      }""" % (count, (1 << count) - 1, body),
        # Nobody says what the last lane that comes gets of the next one, which does not.
        lambda t, v, n, kind=kind, count=count: shuffledPiece(kind, 1 if count > 1 else 0, 31, lambda l: l < count)(t, v, n)
        if not (kind == "down" and t % 32 == count - 1) else None, cuda=False)
VOTE = ALL + """%c2 = arith.constant 2 : i32
      %low = arith.remui %v, %c2 : i32
      %one = arith.constant 1 : i32
      %odd = arith.cmpi eq, %low, %one : i32
      """
row("nvvm_ballot", VOTE + "%r = nvvm.vote.sync ballot %all, %odd -> i32",
    lambda t, v, n: sum((v[i] & 1) << i % 32 for i in lanes(t, n)), cuda=False)
for kind, combine in (("any", any), ("all", all), ("uni", lambda bits: len(set(bits)) == 1)):
    row("nvvm_vote_" + kind, VOTE + """%%yes = nvvm.vote.sync %s %%all, %%odd -> i1
      %%r = arith.extui %%yes : i1 to i32""" % kind,
        lambda t, v, n, combine=combine: int(combine([bool(v[i] & 1) for i in lanes(t, n)])), cuda=False)
row("nvvm_ballot_first_7", VOTE + """%lane = nvvm.read.ptx.sreg.laneid : i32
      %count = arith.constant 7 : i32
      %comes = arith.cmpi ult, %lane, %count : i32
      %r = scf.if %comes -> i32 {
        %mask = arith.constant 127 : i32
        %b = nvvm.vote.sync ballot %mask, %odd -> i32
        scf.yield %b : i32
      } else {
        scf.yield %v : i32
      }""", lambda t, v, n: sum((v[i] & 1) << i % 32 for i in lanes(t, n) if i % 32 < 7) if t % 32 < 7 else v[t], cuda=False)
for kind, name in (("add", "add"), ("min", "minsi"), ("umax", "maxui"), ("xor", "xor")):
    row("nvvm_redux_" + kind, ALL + "%%r = nvvm.redux.sync %s %%v, %%all : i32 -> i32" % kind,
        lambda t, v, n, combine=COMBINE[name]: fold(combine, (v[i] for i in lanes(t, n))), cuda=False)
row("nvvm_redux_fmax_abs", ALL + "%r = nvvm.redux.sync fmax %f, %all {abs = true} : f32 -> f32",
    lambda t, v, n: max(abs(v[i]) for i in lanes(t, n)), 0, cuda=False)
row("nvvm_warp_barrier", ALL + """memref.store %v, %w[%lin] : memref<256xi32, WS>
      nvvm.bar.warp.sync %all : i32
      %c1 = arith.constant 1 : index
      %neighbour = arith.xori %lin, %c1 : index
      %there = arith.cmpi ult, %neighbour, %n : index
      %place = arith.select %there, %neighbour, %lin : index
      %r = memref.load %w[%place] : memref<256xi32, WS>""", lambda t, v, n: v[t ^ 1] if t ^ 1 < n else v[t],
    attributions=" workgroup(%w: memref<256xi32, WS>)", cuda=False)
row("call", "%r = func.call @exchange(%v, %w, %lin, %n) : (i32, memref<256xi32, WS>, index, index) -> i32",
    lambda t, v, n: v[(t + 1) % n] + v[(t + 2) % n], attributions=" workgroup(%w: memref<256xi32, WS>)", cuda=False)
FUNCTIONS = """
    func.func private @exchange(%v: i32, %w: memref<256xi32, WS>, %lin: index, %n: index) -> i32 {
      %a = func.call @next(%v, %w, %lin, %n) : (i32, memref<256xi32, WS>, index, index) -> i32
      %b = func.call @next(%a, %w, %lin, %n) : (i32, memref<256xi32, WS>, index, index) -> i32
      %r = arith.addi %a, %b : i32
      return %r : i32
    }
    func.func private @next(%v: i32, %w: memref<256xi32, WS>, %lin: index, %n: index) -> i32 {
      %c1 = arith.constant 1 : index
      %next = arith.addi %lin, %c1 : index
      %other = arith.remui %next, %n : index
      memref.store %v, %w[%lin] : memref<256xi32, WS>
      gpu.barrier
      %r = memref.load %w[%other] : memref<256xi32, WS>
      gpu.barrier
      return %r : i32
    }"""
# Kernels in the LLVM dialect: of %v, %lin and %n they make %r, all of them i32.
LLVM_ROWS = []


def llvmRow(name, body, reference):
    LLVM_ROWS.append(("llvm_" + name, body, reference, None, None, False))


LLVM_OTHER = """%w = llvm.mlir.addressof @shared : !llvm.ptr<3>
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c3 = llvm.mlir.constant(3 : i32) : i32
      %c7 = llvm.mlir.constant(7 : i32) : i32
      %mine = llvm.getelementptr %w[%lin] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %next = llvm.add %lin, %c7 : i32
      %other = llvm.urem %next, %n : i32
      %theirs = llvm.getelementptr %w[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      """


def rounds(t, v, n):
    for k in range(3):
        v = [v[(i + 7) % n] + k for i in range(n)]
    return v[t]


llvmRow("loop", LLVM_OTHER + """llvm.br ^loop(%c0, %v : i32, i32)
    ^loop(%k: i32, %a: i32):
      llvm.store %a, %mine : i32, !llvm.ptr<3>
      nvvm.barrier0
      %o = llvm.load %theirs : !llvm.ptr<3> -> i32
      nvvm.barrier0
      %b = llvm.add %o, %k : i32
      %k1 = llvm.add %k, %c1 : i32
      %more = llvm.icmp "slt" %k1, %c3 : i32
      llvm.cond_br %more, ^loop(%k1, %b : i32, i32), ^done(%b : i32)
    ^done(%r: i32):""", rounds)
llvmRow("tree", LLVM_OTHER + """%c256 = llvm.mlir.constant(256 : i32) : i32
      llvm.store %v, %mine : i32, !llvm.ptr<3>
      nvvm.barrier0
      llvm.br ^loop(%c256 : i32)
    ^loop(%s: i32):
      %half = llvm.lshr %s, %c1 : i32
      %partner = llvm.add %lin, %half : i32
      %low = llvm.icmp "ult" %lin, %half : i32
      %there = llvm.icmp "ult" %partner, %n : i32
      %both = llvm.and %low, %there : i1
      llvm.cond_br %both, ^sum, ^meet
    ^sum:
      %from = llvm.getelementptr %w[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %x1 = llvm.load %from : !llvm.ptr<3> -> i32
      %x2 = llvm.load %mine : !llvm.ptr<3> -> i32
      %x3 = llvm.add %x1, %x2 : i32
      llvm.store %x3, %mine : i32, !llvm.ptr<3>
      llvm.br ^meet
    ^meet:
      nvvm.barrier0
      %more = llvm.icmp "ugt" %half, %c1 : i32
      llvm.cond_br %more, ^loop(%half : i32), ^done
    ^done:
      %r = llvm.load %w : !llvm.ptr<3> -> i32""", lambda t, v, n: sum(v))
llvmRow("switch", LLVM_OTHER + """%which = llvm.urem %lin, %c3 : i32
      llvm.switch %which : i32, ^zero [1: ^one(%v : i32), 2: ^two]
    ^zero:
      llvm.br ^meet(%c7 : i32)
    ^one(%a: i32):
      %twice = llvm.add %a, %a : i32
      llvm.br ^meet(%twice : i32)
    ^two:
      %sum = llvm.call @llvmExchange(%v, %lin, %n) : (i32, i32, i32) -> i32
      llvm.br ^meet(%sum : i32)
    ^meet(%m: i32):
      llvm.store %m, %mine : i32, !llvm.ptr<3>
      nvvm.barrier0
      %r = llvm.load %theirs : !llvm.ptr<3> -> i32""",
        lambda t, v, n: [7, 2 * v[o], v[o] + 1][o % 3] if (o := (t + 7) % n) >= 0 else 0)
llvmRow("call", "%r = llvm.call @llvmNext(%v, %lin, %n) : (i32, i32, i32) -> i32", lambda t, v, n: v[(t + 2) % n])
llvmRow("memory", LLVM_OTHER + """%saved = llvm.intr.stacksave : !llvm.ptr
      %slot = llvm.alloca %c3 x i32 : (i32) -> !llvm.ptr
      llvm.intr.lifetime.start %slot : !llvm.ptr
      %second = llvm.getelementptr %slot[1] : (!llvm.ptr) -> !llvm.ptr, i32
      llvm.store %v, %slot : i32, !llvm.ptr
      llvm.store %lin, %second : i32, !llvm.ptr
      nvvm.barrier0
      %all = llvm.mlir.constant(-1 : i32) : i32
      %first = llvm.load %slot : !llvm.ptr -> i32
      %sum = nvvm.redux.sync add %first, %all : i32 -> i32
      %late = llvm.load %second : !llvm.ptr -> i32
      llvm.intr.lifetime.end %slot : !llvm.ptr
      llvm.intr.stackrestore %saved : !llvm.ptr
      %r = llvm.sub %sum, %late : i32""", lambda t, v, n: sum(v[i] for i in lanes(t, n)) - t)
llvmRow("struct", LLVM_OTHER + """%none = llvm.mlir.poison : !llvm.struct<(i32, array<2 x i32>)>
      %one = llvm.insertvalue %v, %none[0] : !llvm.struct<(i32, array<2 x i32>)>
      %both = llvm.insertvalue %lin, %one[1, 1] : !llvm.struct<(i32, array<2 x i32>)>
      llvm.store %v, %mine : i32, !llvm.ptr<3>
      nvvm.barrier0
      %a = llvm.extractvalue %both[0] : !llvm.struct<(i32, array<2 x i32>)>
      %b = llvm.extractvalue %both[1, 1] : !llvm.struct<(i32, array<2 x i32>)>
      %c = llvm.load %theirs : !llvm.ptr<3> -> i32
      %d = llvm.add %a, %b : i32
      %r = llvm.add %d, %c : i32""", lambda t, v, n: v[t] + t + v[(t + 7) % n])
llvmRow("leave", LLVM_OTHER + """%odd = llvm.and %lin, %c1 : i32
      %leaves = llvm.icmp "eq" %odd, %c1 : i32
      llvm.cond_br %leaves, ^early, ^stay
    ^early:
      llvm.store %v, %place : i32, !llvm.ptr
      llvm.return
    ^stay:
      nvvm.barrier0
      %r = llvm.add %v, %c1 : i32""", lambda t, v, n: v[t] + 1 - (t & 1))
LLVM_FUNCTIONS = """
    llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<256 x i32>
    llvm.func internal @llvmExchange(%v: i32, %lin: i32, %n: i32) -> i32 {
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %r = llvm.add %v, %c1 : i32
      llvm.return %r : i32
    }
    llvm.func internal @llvmNext(%v: i32, %lin: i32, %n: i32) -> i32 {
      %w = llvm.mlir.addressof @shared : !llvm.ptr<3>
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c2 = llvm.mlir.constant(2 : i32) : i32
      %mine = llvm.getelementptr %w[%lin] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %next = llvm.add %lin, %c1 : i32
      %other = llvm.urem %next, %n : i32
      %theirs = llvm.getelementptr %w[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      llvm.br ^loop(%c0, %v : i32, i32)
    ^loop(%k: i32, %a: i32):
      %more = llvm.icmp "ult" %k, %c2 : i32
      llvm.cond_br %more, ^body, ^done
    ^body:
      llvm.store %a, %mine : i32, !llvm.ptr<3>
      nvvm.barrier0
      %b = llvm.load %theirs : !llvm.ptr<3> -> i32
      nvvm.barrier0
      %k1 = llvm.add %k, %c1 : i32
      llvm.br ^loop(%k1, %b : i32, i32)
    ^done:
      llvm.return %a : i32
    }"""
LLVM_PLACE = "".join("      %%%s = nvvm.read.ptx.sreg.tid.%s : i32\n      %%d%s = nvvm.read.ptx.sreg.ntid.%s : i32\n" % (d, d, d, d) for d in "xyz") + """\
      %zy = llvm.mul %z, %dy : i32
      %zyy = llvm.add %zy, %y : i32
      %row = llvm.mul %zyy, %dx : i32
      %lin = llvm.add %row, %x : i32
      %dxy = llvm.mul %dx, %dy : i32
      %n = llvm.mul %dxy, %dz : i32
      %at = llvm.getelementptr %in[%lin] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      %v = llvm.load %at : !llvm.ptr -> i32
      %lin64 = llvm.zext %lin : i32 to i64
      %index = llvm.add %base, %lin64 : i64
      %place = llvm.getelementptr %out[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      """
PLACE = threadplace.PLACE + """      %v = memref.load %in[%lin] : memref<256xi32>
      %f = arith.sitofp %v : i32 to f32
"""


def main():
    runner, device, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    rows = [r for r in ROWS if device == "cpu" or r[5]]
    if any(o.startswith("--subgroup-size=") for o in options):
        rows = [r for r in rows if r[0].startswith(SUBGROUP_ROWS)]
    elif device == "cpu":
        rows += LLVM_ROWS
    inputs = [(i * 7919 + 13) % 1000 - 400 for i in range(256)]
    size = sum(len(rows) * x * y * z for x, y, z in BLOCKS)
    text = ["module attributes {gpu.container_module} {", "  gpu.module @k {", FUNCTIONS]
    if rows[-1] in LLVM_ROWS:
        text.append(LLVM_FUNCTIONS)
    for name, body, _, error, attributions, _ in rows:
        if attributions is None:
            text.append("    llvm.func @%s(%%in: !llvm.ptr, %%out: !llvm.ptr, %%base: i64) attributes {gpu.kernel, nvvm.kernel} {" % name)
            text.append(LLVM_PLACE + body + "\n      llvm.store %r, %place : i32, !llvm.ptr\n      llvm.return\n    }")
            continue
        known = " attributes {known_block_size = array<i32: %d, %d, %d>}" % KNOWN if "_known_" in name else ""
        text.append("    gpu.func @%s(%%in: memref<256xi32>, %%out: memref<%dxi32>, %%base: index)%s kernel%s {" % (
            name, size, attributions, known))
        text.append(PLACE + "      " + body)
        if error is not None:
            text.append("      %bits = arith.bitcast %r : f32 to i32")
        text.append("      %%at = arith.addi %%base, %%lin : index\n      memref.store %%%s, %%out[%%at] : memref<%dxi32>"
                    % ("r" if error is None else "bits", size))
        text.append("      gpu.return\n    }")
    text.append("  }\n  func.func @main(%%hin: memref<256xi32>, %%hout: memref<%dxi32>) {" % size)
    text.append("    %din = gpu.alloc () : memref<256xi32>\n    gpu.memcpy %din, %hin : memref<256xi32>, memref<256xi32>")
    text.append("    %%dout = gpu.alloc () : memref<%dxi32>\n    %%bytes = arith.constant 1024 : i32" % size)
    for i in sorted({d for block in BLOCKS for d in block} | {1}):
        text.append("    %%c%d = arith.constant %d : index" % (i, i))
    for name, type in (("din", "memref<256xi32>"), ("dout", "memref<%dxi32>" % size)):
        text.append("    %%%sI = memref.extract_aligned_pointer_as_index %%%s : %s -> index" % (name, name, type))
        text.append("    %%%sJ = arith.index_cast %%%sI : index to i64\n    %%%sP = llvm.inttoptr %%%sJ : i64 to !llvm.ptr" % ((name,) * 4))
    base, places = 0, []
    for block in BLOCKS:
        for r in rows:
            if "_known_" in r[0] and block != KNOWN:
                continue
            text.append("    %%b%d = arith.constant %d : index" % (base, base))
            if r[4] is None:
                text.append("    %%i%d = arith.constant %d : i64" % (base, base))
                text.append("    gpu.launch_func @k::@%s blocks in (%%c1, %%c1, %%c1) threads in (%%c%d, %%c%d, %%c%d) args(%%dinP : !llvm.ptr, "
                            "%%doutP : !llvm.ptr, %%i%d : i64)" % ((r[0],) + block + (base,)))
                places.append((r, block, base))
                base += block[0] * block[1] * block[2]
                continue
            text.append("    gpu.launch_func @k::@%s blocks in (%%c1, %%c1, %%c1) threads in (%%c%d, %%c%d, %%c%d)%s args(%%din : memref<256xi32>, "
                        "%%dout : memref<%dxi32>, %%b%d : index)" % ((r[0],) + block + (
                            " dynamic_shared_memory_size %bytes" if r[0] == "dynamic" else "", size, base)))
            places.append((r, block, base))
            base += block[0] * block[1] * block[2]
    text.append("    gpu.memcpy %%hout, %%dout : memref<%dxi32>, memref<%dxi32>" % (size, size))
    text.append("    gpu.dealloc %%din : memref<256xi32>\n    gpu.dealloc %%dout : memref<%dxi32>\n    return\n  }\n}" % size)
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "rows.mlir"), os.path.join(folder, "out.npy")
        with open(file, "w") as f:
            f.write("\n".join(text).replace("WS", WS) + "\n")
        if "--print" in options:
            print(open(file).read())
            return
        done = subprocess.run([runner, "--device=" + device, *options, file, "--leak-check=error",
                               "--input=256xi32=" + ",".join(map(str, inputs)), "--input=%dxi32" % size,
                               "--output=", "--output=@" + out])
        if done.returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            data = f.read()
        got = struct.unpack_from("<%di" % size, data, 10 + struct.unpack_from("<H", data, 8)[0])
    wrong = 0
    for (name, _, reference, error, _, _), block, base in places:
        n = block[0] * block[1] * block[2]
        for t in range(n):
            mine, wanted = got[base + t], reference(t, inputs[:n], n)
            if wanted is None:
                continue  # anything
            if error is None:
                fine, wanted = mine == s32(wanted), s32(wanted)
            else:
                mine = struct.unpack("f", struct.pack("i", mine))[0]
                fine = abs(mine - wanted) <= error * max(abs(wanted), 1e-3)
            if not fine:
                wrong += 1
                print("%s, block %s, thread %d: %s, expected %s" % (name, block, t, mine, wanted))
                break
    print("%d rows in %d blocks, %d wrong" % (len(rows), len(BLOCKS), wrong))
    sys.exit(1 if wrong else 0)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a program in the torch dialect to linalg on tensors.

    pip install torch-mlir
    python3 -m gpu_async.frontends.lower_torch FILE.mlir > program.mlir

FILE.mlir is what torch_mlir.fx.export_and_import(module, ..., output_type="torch")
writes, with "raw" too, or one of examples/torch; PyTorch itself is not needed.
Scans, sorts and scatters, which torch-mlir leaves in a dialect of its own, become
loops here. What torch-mlir cannot lower is an error that names the operation.
"""

import argparse
import functools
import re
import sys

from torch_mlir import ir, passmanager
from torch_mlir.dialects import torch as torch_dialect

from . import constants, decompositions, loops, places

# The second infers shapes, which losses with indices need, and takes longer.
PIPELINES = ("torchdynamo-export-to-torch-backend-pipeline", "torch-function-to-torch-backend-pipeline")
TO_LINALG = "torch-backend-to-linalg-on-tensors-backend-pipeline"

# A scan of fewer elements is one block.
SHORT_SCAN = 128
ATTENTION = """
func.func private @{name}(%q: {query}, %k: {key}, %v: {value}{mask_argument}) -> {result} {{
  %zero = arith.constant 0.0 : {element}
  %scale = arith.constant {scale} : {element}
  %e = tensor.empty() : {scores}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {scores}) -> {scores}
  %p = linalg.generic {{indexing_maps = [affine_map<(b, m, n, d) -> (b, m, d)>, affine_map<(b, m, n, d) -> (b, n, d)>, affine_map<(b, m, n, d) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}} ins(%q, %k : {query}, {key}) outs(%f : {scores}) {{
  ^bb0(%a: {element}, %b: {element}, %c: {element}):
    %ab = arith.mulf %a, %b : {element}
    %s = arith.addf %c, %ab : {element}
    linalg.yield %s : {element}
  }} -> {scores}
  %g = tensor.empty() : {scores}
  %scaled = linalg.generic {{indexing_maps = [{identity}, {identity}{mask_map}], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%p{mask_operand} : {scores}{mask_type}) outs(%g : {scores}) {{
  ^bb0(%a: {element}{mask_number}, %c: {element}):
    %s = arith.mulf %a, %scale : {element}
    {masked}
    linalg.yield %t : {element}
  }} -> {scores}
  %h = tensor.empty() : {scores}
  %soft = linalg.softmax dimension(2) ins(%scaled : {scores}) outs(%h : {scores}) -> {scores}
  %i = tensor.empty() : {result}
  %j = linalg.fill ins(%zero : {element}) outs(%i : {result}) -> {result}
  %r = linalg.batch_matmul ins(%soft, %v : {scores}, {value}) outs(%j : {result}) -> {result}
  func.return %r : {result}
}}"""


def array_type(value):
    """The sizes and the element type of a tensor."""
    type = ir.RankedTensorType(value.type)
    return list(type.shape), str(type.element_type)


def number(op, name):
    return ir.IntegerAttr(op.attributes[name]).value


def scan_of(name, op):
    shape, element = array_type(op.operands[0])
    dim = number(op, "dimension")
    size = shape[dim]
    block = max(size if size < SHORT_SCAN else int(size**0.5), 1)
    text = loops.scan(name, shape, element, dim, ir.BoolAttr(op.attributes["inclusive"]).value, block)
    return text, [op.operands[0], op.operands[2]], list


def keep_nan(module):
    """Where torch-mlir takes one of two numbers by a comparison, NaN is the result, as in PyTorch, and its place that
    of the largest and of the least."""
    GREATER, LESS, ORD, UNO = (2, 3, 9, 10), (4, 5, 11, 12), 7, 14
    for op in [each for each in loops.operations(module.operation) if each.name == "arith.cmpf"]:
        predicate = ir.IntegerAttr(op.attributes["predicate"])
        if predicate.value not in GREATER + LESS:
            continue
        one, other = op.operands
        users = [getattr(use.owner, "operation", use.owner) for use in op.results[0].uses]
        for user in users:
            if user.name != "arith.select" or user.operands[0] != op.results[0]:
                continue
            chosen = list(user.operands)[1:]
            isConstant = not isinstance(other.owner, ir.Block) and other.owner.name == "arith.constant"
            # As of a relu, which takes the number itself where it is NaN.
            if isConstant and chosen[0 if predicate.value > ORD else 1] == one:
                continue
            with op.location, ir.InsertionPoint(user):
                if chosen in ([one, other], [other, one]):
                    isMost = (predicate.value in GREATER) == (chosen[0] == one)
                    name = "arith.maximumf" if isMost else "arith.minimumf"
                    user.results[0].replace_all_uses_with(ir.Operation.create(name, [one.type], [one, other]).result)
                    user.erase()
                elif any(
                    each.operation.name in ("arith.maximumf", "arith.minimumf") and list(each.operands) == [one, other]
                    for each in user.block.operations
                ):
                    compare = lambda value, kind: ir.Operation.create(
                        "arith.cmpf",
                        [op.results[0].type],
                        [value, value],
                        attributes={"predicate": ir.IntegerAttr.get(predicate.type, kind)},
                    ).result
                    bit = lambda name, *values: ir.Operation.create(name, [op.results[0].type], list(values)).result
                    isFirst = bit("arith.andi", compare(one, UNO), compare(other, ORD))
                    user.operands[0] = bit("arith.ori", op.results[0], isFirst)


def order_nan(op):
    """NaN is more than any number, as in PyTorch: compared as it is, it would be equal to each, and leave those around
    it unsorted."""
    block = op.regions[0].blocks[0]
    *_, compare, end = [each.operation for each in block.operations]
    OGT, OGE, OLT, OLE, UNO = 2, 3, 4, 5, 14
    if compare.name != "arith.cmpf" or list(end.operands) != list(compare.results):
        return
    predicate = ir.IntegerAttr(compare.attributes["predicate"])
    if predicate.value not in (OGT, OGE, OLT, OLE):
        return
    last = compare.operands[1 if predicate.value in (OLT, OLE) else 0]
    with op.location, ir.InsertionPoint(end):
        bit = compare.results[0].type
        isNan = ir.Operation.create(
            "arith.cmpf", [bit], [last, last], attributes={"predicate": ir.IntegerAttr.get(predicate.type, UNO)}
        )
        end.operands[0] = ir.Operation.create("arith.ori", [bit], [compare.results[0], isNan.result]).result


def sort_of(name, op):
    if len(op.operands) != len(op.results):
        raise ValueError("it has inputs besides its outputs")
    types = [array_type(each) for each in op.operands]
    shape, elements, dim = types[0][0], [element for _, element in types], number(op, "dimension")
    order_nan(op)
    taken = loops.take_first(ir, op, dim)
    text = loops.first(name, shape, elements, dim, taken[0]) if taken else loops.sort(name, shape, elements, dim)
    return text, list(op.operands), list


def scatter_of(name, op, threads):
    (update, element), (indices, index), (shape, _) = map(array_type, op.operands)
    # The last dimensions of the updates are the last ones of the array.
    inserted = list(range(len(shape) - len(update) + 1))
    text = loops.scatter(
        name,
        shape,
        [element],
        indices,
        index,
        update,
        list(range(1, len(update))),
        inserted,
        [],
        [],
        list(op.attributes["dimension_map"]),
        1,
        fromEnd=True,
        threads=threads,
        adds=loops.is_addition(op.regions[0]),
    )
    return text, [op.operands[2], op.operands[1], op.operands[0]], lambda given: [given[1], given[0]]


def attention_of(name, op):
    operands = list(op.operands)
    types = [str(each.type) for each in operands]
    (query, element), (key, _) = map(array_type, operands[:2])
    if len(query) != 3 or element == "f64":
        raise ValueError("it has not one dimension of batches, or is of f64")
    hasMask = len(operands) == 5
    scores = loops.typed([query[0], query[1], key[1]], element)
    identity = loops.identity(3)
    of_mask = element
    if hasMask:
        of_mask = array_type(operands[3])[1]
    masked = (
        "%t = arith.addf %s, %m : {0}"
        if of_mask == element
        else "%z = arith.constant 0xFF800000 : f32\n%w = arith.truncf %z : f32 to {0}\n%t = arith.select %m, %s, %w : {0}"
    )
    if of_mask == "i1" and element == "f32":
        masked = "%w = arith.constant 0xFF800000 : f32\n%t = arith.select %m, %s, %w : f32"
    text = ATTENTION.format(
        name=name,
        query=types[0],
        key=types[1],
        value=types[2],
        result=types[-1],
        scores=scores,
        element=element,
        identity=identity,
        scale="%.17e" % query[2] ** -0.5,
        mask_argument=", %%mask: %s" % types[3] if hasMask else "",
        mask_map=", " + identity if hasMask else "",
        mask_operand=", %mask" if hasMask else "",
        mask_type=", " + types[3] if hasMask else "",
        mask_number=", %%m: %s" % of_mask if hasMask else "",
        masked=masked.format(element) if hasMask else "%%t = arith.addf %%s, %%zero : %s" % element,
    )
    return text, operands[:-1], list


def lower_loops(module, threads):
    """What torch-mlir leaves in a dialect of its own."""
    made = {
        "tm_tensor.scan": scan_of,
        "tm_tensor.sort": sort_of,
        "tm_tensor.scatter": functools.partial(scatter_of, threads=threads),
        "tm_tensor.attention": attention_of,
    }
    for place, op in enumerate([op for op in loops.operations(module.operation) if op.name in made]):
        if any(size < 0 for value in op.operands for size in array_type(value)[0]):
            raise ValueError(
                "%s of a size that is known at run time only has no lowering: give the module sizes that do not depend on values"
                % op.name
            )
        try:
            text, operands, order = made[op.name]("%s.%d" % (op.name.partition(".")[2], place), op)
            loops.define(ir, module, text, op, operands, order)
        except ValueError as error:
            raise ValueError("%s has no lowering: %s" % (op.name, error)) from None


def explain(module, error):
    """A ValueError of what torch-mlir's passes could not lower. Their own message can be of a constant, or of what they
    made."""
    message = re.sub(r"^\s*Failure while executing pass pipeline:\s*(error: )?", "", str(error)).partition("\n")[0]
    message = message.partition(": %")[0]
    place = re.match(r'(?:unknown|callsite\(.*\)|"?[^" ]*"?:\d+:\d+): ', message)
    message = constants.shorten(message[place.end() :].rstrip(".") if place else message)
    at = places.describe(place[0]) if place else ""
    left = re.findall(r"torch\.(?:aten|prims?|operator)[\w.]*", message)
    for op in loops.operations(module.operation):
        if left in ([], ["torch.operator"]) and op.name.startswith(("torch.aten.", "torch.prims.", "torch.operator")):
            left = [decompositions.name_of(op)]
            at = places.describe(op.location) or at
    if left and message.startswith("failed to legalize"):
        raise ValueError("torch-mlir has no lowering of %s%s; write it by other operations" % (left[0], at)) from None
    # Not from the error, which quotes operations with all of their constants.
    raise ValueError(
        "torch-mlir fails to lower %s%s: %s; write it by other operations"
        % (left[0] if left else "the program", at, message)
    ) from None


def parse(text):
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        unknown = re.search(r"unregistered operation '([\w.]+)'|custom op '?(torch\.[\w.]+)'? is unknown", str(error))
        if not unknown:
            raise ValueError(
                "the program cannot be read as one in the torch dialect, which torch_mlir.fx.export_and_import(..., "
                "output_type=\"raw\") writes: %s" % constants.shorten(str(error))
            ) from None
        raise ValueError(
            "torch-mlir does not know %s; write it by other operations" % (unknown[1] or unknown[2])
        ) from None


def broadcast_masks(module):
    """Masks of attention as large as what they mask, as torch-mlir's lowering wants them."""
    for op in loops.operations(module.operation):
        if op.name != "torch.aten.scaled_dot_product_attention":
            continue
        sizes = [re.match(r"!torch.vtensor<\[([\d,]+)\],(.*)>", str(value.type)) for value in list(op.operands)[:4]]
        if not all(sizes):
            continue
        query, key, _, mask = [[int(size) for size in each[1].split(",")] for each in sizes]
        wanted = query[:-1] + key[-2:-1]
        if mask == wanted:
            continue
        create = ir.Operation.create
        with op.location, ir.InsertionPoint(op):
            parts = [
                create(
                    "torch.constant.int",
                    results=[ir.Type.parse("!torch.int")],
                    attributes={"value": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)},
                ).result
                for size in wanted
            ]
            shape = create(
                "torch.prim.ListConstruct", results=[ir.Type.parse("!torch.list<int>")], operands=parts
            ).result
            type = ir.Type.parse("!torch.vtensor<[%s],%s>" % (",".join(map(str, wanted)), sizes[3][2]))
            op.operands[3] = create("torch.aten.broadcast_to", results=[type], operands=[op.operands[3], shape]).result


def to_linalg(text):
    """The module in linalg, and in torch-mlir's own dialect what that leaves."""
    failed = None
    for pipeline in PIPELINES:
        module = parse(text)
        broadcast_masks(module)
        decompositions.widen_bytes(list(loops.operations(module.operation)))
        decompositions.decompose(list(loops.operations(module.operation)))
        try:
            for each in (pipeline, TO_LINALG):
                passmanager.PassManager.parse("builtin.module(%s)" % each).run(module.operation)
            return module
        except ir.MLIRError as error:
            failed = failed or (module, error)
    return explain(*failed)


def lower(text, gpu=False, lines=False):
    """The text of the program. A ValueError of what has no lowering. For a `gpu` scatters are shared among more
    threads. With `lines` operations have the lines of the Python program for their locations."""
    with ir.Context() as context:
        torch_dialect.register_dialect(context)
        module = to_linalg(text)
        keep_nan(module)
        lower_loops(module, loops.GPU_THREADS if gpu else 1)
        left = {
            op.name for op in loops.operations(module.operation) if op.name.startswith(("torch.", "torch_c.", "tm_tensor."))
        }
        if left:
            raise ValueError(
                "torch-mlir leaves "
                + ", ".join(sorted(left))
                + ", which only torch-mlir knows; write it by other operations"
            )
        if lines:
            places.keep_lines(loops.operations(module.operation))
        return constants.pack_booleans(module.operation.get_asm(enable_debug_info=lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--gpu", action="store_true", help="cut scatters for the many threads of a GPU")
    arguments = parser.parse_args()
    try:
        with open(arguments.file) as file:
            text = file.read()
        sys.stdout.write(lower(text, arguments.gpu))
    except (OSError, ValueError) as error:
        raise SystemExit("lower_torch: %s" % error)


if __name__ == "__main__":
    main()

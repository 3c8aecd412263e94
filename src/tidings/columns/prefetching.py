"""Asking for memory ahead of time: a hint to the processor, without any effect on what is computed."""

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_NAME: Final = "llvm.prefetch.p0"
_item_pointer: Any = cgutils.get_item_pointer


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line in which an element of a one-dimensional array stands."""
    if not (isinstance(array, types.Array) and array.ndim == 1 and isinstance(index, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(array)(context, builder, arguments[0])
        place = _item_pointer(context, builder, array, struct, [arguments[1]], wraparound=False)
        pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
        function = builder.module.globals.get(_NAME) or ir.Function(builder.module, kind, _NAME)
        builder.call(function, [pointer, *(ir.Constant(ir.IntType(32), value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)
"""In a kernel, `prefetch(array, index)`."""

"""Several bytes of a string at once: loads and stores of whole integers at any byte of an array.

Copying short strings byte by byte costs as many stores as bytes. With these a string of up to sixteen bytes is two
stores, whatever its length: what is written too much is overwritten by the next string. Nothing is checked, so the
array must have room behind the last string for what is written too much.
"""

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

SLACK: Final = 16
"""So many bytes behind the last string may be written."""

_item_pointer: Any = cgutils.get_item_pointer


def _pointer_to(context: Any, builder: Any, array: Any, value: Any, index: Any, item: Any) -> Any:
    struct = context.make_array(array)(context, builder, value)
    place = _item_pointer(context, builder, array, struct, [index], wraparound=False)
    return builder.bitcast(place, item.as_pointer())


def _are_bytes(array: Any, index: Any) -> bool:
    return (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.dtype == types.uint8
        and isinstance(index, types.Integer)
    )


def _eight_at(typing_context: Any, array: Any, index: Any) -> Any:
    """The eight bytes from a place on as a little-endian number."""
    if not _are_bytes(array, index):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer_to(context, builder, array, arguments[0], arguments[1], ir.IntType(64))
        return builder.load(pointer, align=1)

    return types.uint64(array, index), generate


def _put_eight(typing_context: Any, array: Any, index: Any, number: Any) -> Any:
    """Write eight bytes from a place on."""
    if not (_are_bytes(array, index) and array.mutable and number == types.uint64):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer_to(context, builder, array, arguments[0], arguments[1], ir.IntType(64))
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, index, number), generate


eight_at: Any = intrinsic(_eight_at)
"""In a kernel, `eight_at(array, index)`."""
put_eight: Any = intrinsic(_put_eight)
"""In a kernel, `put_eight(array, index, number)`."""

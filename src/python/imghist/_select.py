"""fields=, sort= and top= of scan."""

import heapq
import operator

from . import _imghist, _table


def _value(result, name):
    if isinstance(result, BaseException):
        return {"file": _table._source(result), "status": "error", "error": str(result)}.get(name)
    return result.field(name)


def select(results, fields, sort, top):
    """results   Counts and exceptions, which results() begins to give

    The names are checked before anything is counted.
    """
    names = fields.split(",") if isinstance(fields, str) else fields and list(fields)
    is_descending = sort is not None and sort.startswith("-")
    key = sort and sort[is_descending:]
    if top is not None and (sort is None or operator.index(top) < 1):
        raise ValueError("top: needs sort, and at least 1")
    for name in [*(names or ()), *([] if sort is None else [key])]:
        _imghist.failures(0).field(name)
    return _selected(results, names, key, is_descending, top)


def _selected(results, names, key, is_descending, top):
    rows = ((result, {name: _value(result, name) for name in names} if names else result) for result in results())
    if key is None:
        yield from (row for _, row in rows)
        return
    missing = []  # they come after the others

    def present():
        for result, row in rows:
            value = _value(result, key)
            if value is not None:
                yield value, row
            elif top is None or len(missing) < top:
                missing.append(row)

    first = operator.itemgetter(0)
    if top is None:
        chosen = sorted(present(), key=first, reverse=is_descending)
    else:
        chosen = (heapq.nlargest if is_descending else heapq.nsmallest)(top, present(), key=first)
    yield from ([row for _, row in chosen] + missing)[:top]

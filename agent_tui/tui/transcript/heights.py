"""Heights: a growing list of row counts with sums and searches in O(log n).

A Fenwick tree. The transcript keeps one over its blocks and one in each block over its
parts, so that a frame of a 10 MB conversation costs what a frame of a short one costs.
"""

from collections.abc import Iterable


class Heights:
    """Non-negative row counts, addressed by index."""

    __slots__ = ("_rows", "_tree")

    def __init__(self, rows: Iterable[int] = ()) -> None:
        self._rows: list[int] = list(rows)
        self._tree: list[int] = [0, *self._rows]
        for i in range(1, len(self._tree)):
            parent = i + (i & -i)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[i]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> int:
        return self._rows[index]

    def append(self, rows: int) -> None:
        node = len(self._tree)
        total = rows
        child = node - 1
        stop = node - (node & -node)
        while child > stop:
            total += self._tree[child]
            child -= child & -child
        self._rows.append(rows)
        self._tree.append(total)

    def pop(self) -> int:
        """Remove the last; gives its rows."""
        self._tree.pop()
        return self._rows.pop()

    def set(self, index: int, rows: int) -> int:
        """Replace one height; gives the difference."""
        difference = rows - self._rows[index]
        if difference:
            self._rows[index] = rows
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += difference
                node += node & -node
        return difference

    def before(self, index: int) -> int:
        """The sum of all heights before `index` (index may be len)."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    @property
    def total(self) -> int:
        return self.before(len(self._rows))

    def find(self, row: int) -> tuple[int, int]:
        """(index, row within it) of the entry that holds `row`; entries of no rows are
        skipped. Past the end: (len, rows past the end)."""
        node = 0
        size = len(self._tree)
        step = 1 << (size.bit_length() - 1)
        while step:
            ahead = node + step
            if ahead < size and self._tree[ahead] <= row:
                node = ahead
                row -= self._tree[ahead]
            step >>= 1
        return node, row

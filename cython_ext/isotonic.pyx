"""Lines of numbers brought into order: the nearest ones that never fall.

Only released and public numbers come in.
"""


def ascend(double[:, ::1] lines, const double[:, ::1] weights, double[:, ::1] blocks):
    """Replace every line by the nearest one that never falls, by weighted squared distance.

    Adjacent blocks that fall are pooled to their mean (Ayer et al. 1955).

    Parameters
    ----------
    lines : float64 array of shape (n_lines, n)
        Overwritten.
    weights : float64 array of shape (n_lines, n)
        Greater than zero.
    blocks : float64 array of shape (3, n)
        Overwritten: room for mean, weight and size of each block.
    """
    cdef Py_ssize_t n = lines.shape[1]
    cdef Py_ssize_t line, i, j, n_blocks, end
    cdef double weight
    with nogil:
        for line in range(lines.shape[0]):
            n_blocks = 0
            for i in range(n):
                blocks[0, n_blocks] = lines[line, i]
                blocks[1, n_blocks] = weights[line, i]
                blocks[2, n_blocks] = 1
                n_blocks += 1
                # A pooled mean is below that of its first part, and may fall below the block
                # before: go back until all are in order. Each step removes a block: at most n in a
                # line.
                while n_blocks > 1 and blocks[0, n_blocks - 2] > blocks[0, n_blocks - 1]:
                    j = n_blocks - 2
                    weight = blocks[1, j] + blocks[1, j + 1]
                    blocks[0, j] = (
                        blocks[0, j] * blocks[1, j] + blocks[0, j + 1] * blocks[1, j + 1]
                    ) / weight
                    blocks[1, j] = weight
                    blocks[2, j] += blocks[2, j + 1]
                    n_blocks -= 1
            i = 0
            for j in range(n_blocks):
                end = i + <Py_ssize_t>blocks[2, j]
                while i < end:
                    lines[line, i] = blocks[0, j]
                    i += 1

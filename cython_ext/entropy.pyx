"""Random bits of the operating system as a numpy ``BitGenerator``.

Proof: docs/proofs/samplers.md.
"""

import os

from cpython.exc cimport PyErr_Occurred, PyErr_SetString
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from numpy.random.bit_generator cimport BitGenerator

from numpy.random.bit_generator import SeedlessSeedSequence

from _types cimport word_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <string.h>
    #if defined(__linux__)
    #include <errno.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    #endif
    #ifdef SYS_getrandom
    #define DPBOOST_HAS_GETRANDOM 1
    /* The system call, not its wrapper: older C libraries know only the number. */
    static int dpboost_getrandom(void *bytes, size_t n) {
        char *next = (char *)bytes;
        while (n > 0) {
            long got = syscall(SYS_getrandom, next, n, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return 0;
            next += got;
            n -= (size_t)got;
        }
        return 1;
    }
    #else
    #define DPBOOST_HAS_GETRANDOM 0
    static int dpboost_getrandom(void *bytes, size_t n) { (void)bytes; (void)n; return 0; }
    #endif

    /* How many forks lie between the first process and this one. */
    static volatile unsigned long dpboost_forks = 0;
    #ifdef _WIN32
    static int dpboost_watch_forks(void) { return 0; }
    #else
    #include <pthread.h>
    static void dpboost_count_fork(void) { dpboost_forks++; }
    static int dpboost_watch_forks(void) {
        return pthread_atfork(NULL, NULL, dpboost_count_fork);
    }
    #endif

    /* Through a volatile pointer: a compiler may drop a memset before free. */
    static void dpboost_wipe(void *bytes, size_t n) {
        volatile char *next = (volatile char *)bytes;
        while (n-- > 0) *next++ = 0;
    }
    """
    bint DPBOOST_HAS_GETRANDOM
    unsigned long dpboost_forks
    bint dpboost_getrandom(void *bytes, size_t n) noexcept nogil
    int dpboost_watch_forks() noexcept
    void dpboost_wipe(void *bytes, size_t n) noexcept nogil

cdef enum:
    N_WORDS = 8192              # 64 KiB

if dpboost_watch_forks() != 0:
    raise ImportError("dpboost cannot watch for forks: pthread_atfork failed")


cdef struct source_t:
    word_t words[N_WORDS]
    int position                # of the next unused word; N_WORDS: none is left
    bint has_half
    uint32_t half               # the other half of a word given to next_uint32
    unsigned long forks         # of the process that filled the buffer
    bint failed
    word_t stopgap              # number of the next word after a failure
    void *read                  # borrowed Python callable, or NULL for getrandom


cdef bint read_python(source_t *source) noexcept with gil:
    cdef bytes block
    try:
        block = (<object> source.read)(N_WORDS * sizeof(word_t))
        if len(block) != N_WORDS * sizeof(word_t):
            return False
        memcpy(source.words, <const char *> block, N_WORDS * sizeof(word_t))
        return True
    except BaseException:       # also an interrupt: the draw is lost either way
        return False


cdef void leave_exception() noexcept with gil:
    # Pending in the calling thread: raised as soon as it is back in Python, by our kernels as it
    # is, by other callers as the cause of a SystemError.
    if PyErr_Occurred() == NULL:
        PyErr_SetString(OSError, "the operating system gave no random bytes")


cdef bint refill(source_t *source) noexcept nogil:
    cdef bint filled
    if source.failed:           # its buffer is wiped already
        return False
    dpboost_wipe(source.words, sizeof(source.words))
    source.half = 0
    source.has_half = False
    source.position = N_WORDS
    source.forks = dpboost_forks
    if source.read != NULL:
        filled = read_python(source)
    else:
        filled = dpboost_getrandom(source.words, sizeof(source.words))
    if filled:
        source.position = 0
    else:
        dpboost_wipe(source.words, sizeof(source.words))
    source.failed = not filled
    return filled


cdef uint64_t next_uint64(void *state) noexcept nogil:
    cdef source_t *source = <source_t *> state
    cdef word_t word
    if source.position == N_WORDS or source.forks != dpboost_forks:
        if not refill(source):
            # Nobody sees these words. They differ, so that a loop which rejects some ends.
            leave_exception()
            source.stopgap += 0x9E3779B97F4A7C15ULL
            word = (source.stopgap ^ (source.stopgap >> 31)) * 0xBF58476D1CE4E5B9ULL
            return word ^ (word >> 27)
    word = source.words[source.position]
    source.words[source.position] = 0
    source.position += 1
    return word


cdef uint32_t next_uint32(void *state) noexcept nogil:
    cdef source_t *source = <source_t *> state
    cdef uint64_t word
    cdef uint32_t half
    if source.has_half and source.forks == dpboost_forks:
        half = source.half
        source.half = 0
        source.has_half = False
        return half
    word = next_uint64(state)
    source.half = <uint32_t> (word >> 32)
    source.has_half = not source.failed
    return <uint32_t> word


cdef double next_double(void *state) noexcept nogil:
    return <double> (next_uint64(state) >> 11) * (1.0 / 9007199254740992.0)


cdef class SystemEntropy(BitGenerator):
    """Bits of the operating system in blocks of 64 KiB, for secrets.

    Works with `numpy.random.Generator`. A word is wiped from the buffer when it is used, the rest
    when the object dies. A forked child throws the buffer of its parent away before it draws.
    There is no state to read, set, copy or pickle, and no seed.

    Parameters
    ----------
    read : callable, optional
        ``read(n_bytes) -> bytes``. By default the system call ``getrandom`` where there is one,
        else `os.urandom`.

    Raises
    ------
    OSError
        At construction and in any later draw when the source gives no bytes; it then stays closed.
    """

    cdef source_t *_source
    cdef object _read

    def __cinit__(self, *args, **kwargs):
        self._source = <source_t *> calloc(1, sizeof(source_t))
        if self._source == NULL:
            raise MemoryError()
        self._source.position = N_WORDS

    def __init__(self, *, read=None):
        BitGenerator.__init__(self, SeedlessSeedSequence())
        if read is None and not DPBOOST_HAS_GETRANDOM:
            read = os.urandom
        self._read = read
        self._source.read = NULL if read is None else <void *> read
        self._bitgen.state = self._source
        self._bitgen.next_uint64 = &next_uint64
        self._bitgen.next_uint32 = &next_uint32
        self._bitgen.next_double = &next_double
        self._bitgen.next_raw = &next_uint64
        if not refill(self._source):
            raise OSError("the operating system gave no random bytes")

    def __dealloc__(self):
        if self._source != NULL:
            dpboost_wipe(self._source, sizeof(source_t))
            free(self._source)

    def spawn(self, int n_children):
        """Return new sources; nothing ties them to this one."""
        return [type(self)(read=self._read) for _ in range(n_children)]

    @property
    def state(self):
        """Refused: the state of a secret source is secret."""
        raise TypeError("SystemEntropy has no state to read")

    @state.setter
    def state(self, value):
        raise TypeError("SystemEntropy has no state to set")

    def __getstate__(self):
        raise TypeError("SystemEntropy cannot be pickled")

    def __setstate__(self, state):
        raise TypeError("SystemEntropy cannot be unpickled")

    def __reduce__(self):
        raise TypeError("SystemEntropy cannot be pickled or copied")

    def __reduce_ex__(self, protocol):
        raise TypeError("SystemEntropy cannot be pickled or copied")

    def __copy__(self):
        raise TypeError("SystemEntropy cannot be copied")

    def __deepcopy__(self, memo):
        raise TypeError("SystemEntropy cannot be copied")

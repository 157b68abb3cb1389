"""wyrand (Wang Yi, 2019): a 64-bit random number in a multiplication, from a state of 64 bits that may be anything. No secret comes from it."""
from libc.stdint cimport uint64_t

from tellstone._core.base.platform cimport mul_fold

cdef inline uint64_t random_next(uint64_t* state) noexcept nogil:
    state[0] += 0xa0761d6478bd642fULL
    return mul_fold(state[0], state[0] ^ 0xe7037ed1a0b428dbULL)

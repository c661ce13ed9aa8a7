"""An independent reading of "seeded randomized complete blocks", as the oracle
of TestPlanStaysAsItIs. Python 3, standard library only: python3 plan.py
With scipy it prints the chi-square limits of TestShuffleIsUniform too."""
import itertools

M = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


def stream(seed, block, purpose):
    """An endless SplitMix64 for one purpose (1: order, 2: messages) in one block."""
    state = mix(mix(seed + GAMMA & M) ^ (block * 0xD1342543DE82EF95 & M))
    state = mix(state + purpose * GAMMA & M)
    while True:
        state = state + GAMMA & M
        yield mix(state)


def below(numbers, n):
    """Uniform in [0, n): numbers under 2^64 mod n in the low word are refused."""
    while True:
        product = next(numbers) * n
        if product & M >= (1 << 64) % n:
            return product >> 64


def block(seed, b, size):
    order, numbers = list(range(size)), stream(seed, b, 1)
    for i in reversed(range(1, size)):
        j = below(numbers, i + 1)
        order[i], order[j] = order[j], order[i]
    return order, next(stream(seed, b, 2)) >> 11


def fnv1a(words):
    h = 0xCBF29CE484222325
    for word in words:
        for byte in word.to_bytes(8, "little"):
            h = (h ^ byte) * 0x100000001B3 & M
    return h


cells = list(itertools.product(["soap", "rest-json"], ["ipv4", "ipv6"]))
print("id,block,replication,stack,ip")
number, words = 0, []
for b in range(1, 203):
    order, seed = block(7, b, len(cells))
    for cell in order:
        number += 1
        words += [cell, seed]
        if b <= 2:
            print(number, b, b, *cells[cell], sep=",")
print("202 blocks:", hex(fnv1a(words)))
try:
    from scipy.stats import chi2
    print("chi-square:", [round(chi2.ppf(0.999, df), 3) for df in (23, 36)])
except ImportError:
    pass

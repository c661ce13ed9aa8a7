"""The figures of TestInOrderAgainstItsDefinition and TestRunsInOrderAgainstTheirDefinition: python3 inorder.py (numpy only;
t by numeric integration)."""
import math

import numpy as np


def following(d, quantile=1.2815515655446004):
    """f, the number of values that count as one, from the definition in inorder.go."""
    n = len(d)
    e = d - d.mean()
    r = (e[1:] * e[:-1]).sum() / (e * e).sum()
    if not (r + 1 / n) / math.sqrt((n - 2) ** 2 / (n**2 * (n - 1))) > quantile:
        return 1.0
    rho = min(max((n * r + 1) / (n - 4), 0), 0.99)
    return min((1 + rho) / (1 - rho), n / 2)


def of_mean(d, quantile=1.2815515655446004):
    """The variance of the mean, and its degrees of freedom."""
    n, f = len(d), following(d, quantile)
    v = d.var(ddof=1) / n
    return (v * f * (n - 1) / (n - f), max(n / f - 1, 3)) if f > 1 else (v, n - 1)


def upper(t, df):
    """P(T > t): Simpson's rule on the density after t = tan u."""
    k = math.gamma((df + 1) / 2) / math.gamma(df / 2) / math.sqrt(df * math.pi)
    u = np.linspace(math.atan(t), math.pi / 2, 2_000_001)[:-1]
    g = np.append((1 + np.tan(u) ** 2 / df) ** (-(df + 1) / 2) / np.cos(u) ** 2, 0 if df > 1 else 1)
    h = (math.pi / 2 - math.atan(t)) / 2_000_000
    return k * h / 3 * (g[0] + g[-1] + 4 * g[1:-1:2].sum() + 2 * g[2:-1:2].sum())


def show(m, variance, df):
    lo, hi, se = 0.0, 1e4, math.sqrt(variance)
    for _ in range(200):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if upper(mid, df) > 0.025 else (lo, mid)
    print(", ".join(f"{v:.12g}" for v in
                    (math.exp(m), math.exp(m - lo * se), math.exp(m + lo * se), df, 2 * upper(abs(m) / se, df))))


x = np.arange(20.0)
d = 0.02 + 0.05 * np.sin(0.9 * x) - 0.04 * np.sin(1.7 * x)
assert following(d) > 1
show(d.mean(), *of_mean(d))

old, new = 0.04 * np.sin(1.2 * np.arange(24)), 0.02 + 0.03 * np.sin(2.5 * np.arange(10))
each = 1.6448536269514722
assert following(old, each) > 1 and following(new, each) == 1
(va, dfa), (vb, dfb) = of_mean(new, each), of_mean(old, each)
show(new.mean() - old.mean(), va + vb, (va + vb) ** 2 / (va**2 / dfa + vb**2 / dfb))

few = 0.3 + 0.02 * np.sin(0.5 * np.arange(8))
assert 8 / following(few) - 1 < 3
show(few.mean(), *of_mean(few))

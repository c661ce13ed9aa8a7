"""The figures of TestInOrderAgainstItsDefinition: python3 inorder.py (numpy only; t by numeric integration)."""
import math

import numpy as np

x = np.arange(20.0)
d = 0.02 + 0.05 * np.sin(0.9 * x) - 0.04 * np.sin(1.7 * x)
n = len(d)
e = d - d.mean()
r = (e[1:] * e[:-1]).sum() / (e * e).sum()
assert (r + 1 / n) / math.sqrt((n - 2) ** 2 / (n**2 * (n - 1))) > 1.2815515655446004
rho = min(max((n * r + 1) / (n - 4), 0), 0.99)
f = min((1 + rho) / (1 - rho), n / 2)
se = math.sqrt(e.dot(e) / (n - 1) / n * f * (n - 1) / (n - f))
df = max(n / f - 1, 1)


def upper(t):
    """P(T > t): Simpson's rule on the density after t = tan u."""
    k = math.gamma((df + 1) / 2) / math.gamma(df / 2) / math.sqrt(df * math.pi)
    u = np.linspace(math.atan(t), math.pi / 2, 2_000_001)[:-1]
    g = np.append((1 + np.tan(u) ** 2 / df) ** (-(df + 1) / 2) / np.cos(u) ** 2, 0 if df > 1 else 1)
    h = (math.pi / 2 - math.atan(t)) / 2_000_000
    return k * h / 3 * (g[0] + g[-1] + 4 * g[1:-1:2].sum() + 2 * g[2:-1:2].sum())


lo, hi = 0.0, 1e4
for _ in range(200):
    mid = (lo + hi) / 2
    lo, hi = (mid, hi) if upper(mid) > 0.025 else (lo, mid)
m = d.mean()
print(", ".join(f"{v:.12g}" for v in (math.exp(m), math.exp(m - lo * se), math.exp(m + lo * se), df, 2 * upper(abs(m) / se))))
print("rho", rho, "f", f)

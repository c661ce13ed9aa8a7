"""The capacity of TestFitCapacityIsThatOfScipy: line within blocks, level by blocks, Fieller by root finding."""
import numpy as np
from scipy.optimize import brentq
from scipy.stats import f, t
blocks = [[(95, 1.12), (101, .97), (106, .93)], [(94, 1.09), (99, 1.05), (104, .94)],
          [(97, 1.02), (100, 1.01), (107, .88)], [(93, 1.15), (102, .99), (105, .91)]]
x = np.array([[p[0] for p in b] for b in blocks], float)
y = np.log(np.array([[p[1] for p in b] for b in blocks]))
B, k = x.shape
def design(*cols):
    return np.column_stack([np.kron(np.eye(B), np.ones((k, 1)))] + [c.ravel() for c in cols])
def fit(X):
    beta, *_ = np.linalg.lstsq(X, y.ravel(), rcond=None)
    r = y.ravel() - X @ beta
    return beta, r @ r
X = design(x)
beta, rss = fit(X)
df = B * k - B - 1
cov = rss / df * np.linalg.inv(X.T @ X)
slope, var_slope = beta[-1], cov[-1, -1]
levels = y.mean(1) - slope * x.mean(1)
xm = x.mean()
var_level = max(levels.var(ddof=1) / B, rss / df / (B * k))
level = t.ppf(.975, B - 1) * np.sqrt(var_level)
tilt = t.ppf(.975, df) * np.sqrt(var_slope)
def D(r): return levels.mean() + slope * r
def excess(r): return D(r) ** 2 - level ** 2 - (r - xm) ** 2 * tilt ** 2
rate = -levels.mean() / slope
_, rss2 = fit(design(x, (x - 100) ** 2))
F = (rss - rss2) / (rss2 / (df - 1))
for name, v in [("Rate", rate), ("Lo", brentq(excess, rate - 20, rate, xtol=1e-13)),
                ("Hi", brentq(excess, rate, rate + 20, xtol=1e-13)), ("Slope", slope),
                ("Noise", np.sqrt(rss / df) / -slope / rate), ("Bent", f.sf(F, 1, df - 1))]:
    print(f"\toracle{name:6} = {v!r}".replace("np.float64(", "").replace(")", ""))

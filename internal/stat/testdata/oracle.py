"""Writes the tables beside it: what scipy and statsmodels say.

    python3 -m venv VENV && VENV/bin/pip install scipy==1.17.1 statsmodels==0.15.0 numpy==2.4.6 pandas==3.1.1
    VENV/bin/python oracle.py

Every figure comes from a library's own function, or from a definition written
out here where no library has it (then the comment says so).
"""

import csv
import math
import os
import sys
import warnings

import numpy as np
import pandas as pd
import patsy
import scipy
import statsmodels
from scipy import stats
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.diagnostic import normal_ad
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = "# made by oracle.py: python %s, numpy %s, scipy %s, statsmodels %s, pandas %s" % (
    sys.version.split()[0], np.__version__, scipy.__version__, statsmodels.__version__, pd.__version__)
rng = np.random.default_rng(20240117)


def gone(n):
    """passes over what tables that are gone drew, so that those behind them stay as they are"""
    rng.normal(size=n)


def show(v):
    if isinstance(v, (list, tuple, np.ndarray)):
        return " ".join(show(x) for x in v)
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, (int, np.integer, str)):
        return str(v)
    return repr(float(v))


def table(name, header, rows):
    with open(os.path.join(HERE, name), "w", newline="") as f:
        f.write(VERSIONS + "\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(header)
        for r in rows:
            w.writerow([show(v) for v in r])


def dist():
    rows = []
    for df in [1, 1.37, 2, 4.6, 9, 19, 53.2, 499, 12345.6, 1e6]:
        for conf in [0.5, 0.8, 0.9, 0.95, 0.99, 0.9995]:
            rows.append(["t_critical", conf, df, 0, stats.t.isf((1 - conf) / 2, df)])
        for t in [-2.5, 0.01, 0.7, 3, 12, 60]:
            rows.append(["t_upper", t, df, 0, stats.t.sf(t, df)])
    for d1, d2 in [(1, 1), (1, 18), (2, 7.5), (5, 60), (49, 441), (3, 100000)]:
        for f in [0.003, 0.4, 1, 4.2, 25, 300]:
            rows.append(["f_upper", f, d1, d2, stats.f.sf(f, d1, d2)])
    for df in [1, 2, 5, 19]:
        for x in [0.02, 1, 7, 40, 200]:
            rows.append(["chi2_upper", x, df, 0, stats.chi2.sf(x, df)])
    for n, p in [(6, .5), (50, .5), (400, .99), (1000, .95), (2000000, .5)]:
        for k in sorted({0, 1, n // 2, int(n * p), n - 1}):
            rows.append(["binom_lower", k, n, p, stats.binom.cdf(k, n, p)])
    table("dist.csv", ["function", "x", "a", "b", "want"], rows)


def samples():
    """values in words: what each sample stands for"""
    yield "two trials", [1.25, 1.5]
    yield "five trials", [3.1, 2.9, 3.3, 3.05, 2.95]
    yield "six trials, the least for a median interval", [3.1, 2.9, 3.3, 3.05, 2.95, 3.2]
    yield "ten normal", rng.normal(10, 1, 10)
    yield "eleven lognormal", rng.lognormal(0, 1, 11)
    yield "fifty with ties", np.round(rng.normal(5, 2, 50))
    yield "tiny spread on a large mean", 1e9 + rng.normal(0, 1e-3, 25)
    yield "nanoseconds", rng.integers(100000, 900000, 40).astype(float)
    yield "negative", rng.normal(-3, 1, 15)
    yield "small unit", rng.exponential(1e-6, 30)
    yield "four hundred heavy", rng.pareto(2.5, 400)


def order_interval(x, q, conf):
    """interval between order statistics, from scipy's binomial; no library has it"""
    n, tail = len(x), (1 - conf) / 2
    s = np.sort(x)
    lo = max([k for k in range(1, n + 1) if stats.binom.cdf(k - 1, n, q) <= tail * (1 + 1e-12)], default=0)
    hi = min([k for k in range(1, n + 1) if stats.binom.sf(k - 1, n, q) <= tail * (1 + 1e-12)], default=0)
    if lo == 0 or hi == 0:
        return "nan", "nan"
    return s[lo - 1], s[hi - 1]


def summary():
    rows = []
    for words, x in samples():
        x = np.asarray(x)
        for conf in [0.9, 0.95, 0.99]:
            # shifted by an exact amount first, so that the oracle does not lose digits itself
            shift = x[0]
            lo, hi = stats.t.interval(conf, len(x) - 1, loc=math.fsum(x - shift) / len(x), scale=stats.sem(x - shift))
            rows.append([words, "mean", 0, conf, math.fsum(x) / len(x), shift + lo, shift + hi, x])
            rows.append([words, "median", 0.5, conf, np.median(x), *order_interval(x, 0.5, conf), x])
            for q in [0.1, 0.25, 0.9, 0.95, 0.99]:
                if len(x) * min(q, 1 - q) >= 1 - 1e-9:
                    rows.append([words, "quantile", q, conf, np.percentile(x, 100 * q), *order_interval(x, q, conf), x])
    table("summary.csv", ["words", "figure", "q", "confidence", "center", "lo", "hi", "values"], rows)


def outliers():
    """modified z of Iglewicz & Hoaglin by definition, median and MAD from numpy and scipy"""
    rows = []
    for words, x in samples():
        x = np.asarray(x)
        mad = stats.median_abs_deviation(x)
        rows.append([words, 0.6745 * (x - np.median(x)) / mad, x])
    x = np.array([5.0] * 8 + [6.0, 9.0])
    rows.append(["more than half equal: mean absolute deviation", (x - 5) / (1.253314 * np.mean(np.abs(x - 5))), x])
    table("outliers.csv", ["words", "z", "values"], rows)


def compare():
    rows = []
    pairs = [
        ("ten of each", rng.lognormal(1, 0.1, 10), rng.lognormal(1.1, 0.1, 10)),
        ("nearly equal", rng.normal(100, 1, 12), rng.normal(100, 1, 12)),
        ("far apart", rng.normal(10, 0.1, 8), rng.normal(30, 2, 8)),
        ("two of each", np.array([1.0, 1.1]), np.array([2.0, 2.3])),
        ("different n", rng.lognormal(0, 0.3, 7), rng.lognormal(0.2, 0.6, 23)),
        ("one side constant", np.array([4.0, 4.0, 4.0, 4.0]), np.array([5.0, 5.5, 4.5, 6.0])),
        ("small unit", rng.lognormal(-14, 0.2, 9), rng.lognormal(-14.2, 0.05, 5)),
    ]
    for words, a, b in pairs:
        for conf in [0.9, 0.95]:
            for log in [False, True]:
                x, y = (np.log(a), np.log(b)) if log else (a, b)
                back = math.exp if log else float
                bounds = (0.9, 1 / 0.9) if log else (-abs(np.mean(a)) * 0.1, abs(np.mean(a)) * 0.1)
                low, high = (math.log(bounds[0]), math.log(bounds[1])) if log else bounds
                r = stats.ttest_ind(x, y, equal_var=False)
                ci = r.confidence_interval(conf)
                tost = ttost_ind(x, y, low, high, usevar="unequal")[0]
                rows.append([words, "welch", log, conf, back(np.mean(x) - np.mean(y)), back(ci.low), back(ci.high), r.pvalue, r.df, *bounds, tost, a, b])
                if len(a) == len(b):
                    r = stats.ttest_rel(x, y)
                    ci = r.confidence_interval(conf)
                    tost = ttost_paired(x, y, low, high)[0]
                    rows.append([words, "paired", log, conf, back(np.mean(x - y)), back(ci.low), back(ci.high), r.pvalue, r.df, *bounds, tost, a, b])
    table("compare.csv", ["words", "method", "log", "confidence", "estimate", "lo", "hi", "p", "df", "bound_lo", "bound_hi", "tost_p", "a", "b"], rows)


def moments():
    """published tables: mean and half-width only. statsmodels' Welch on log means by the delta method"""
    rows = []
    for words, n1, m1, h1, n2, m2, h2, conf in [
        ("fifty replications", 50, 2.31, 0.02, 50, 5.17, 0.11, 0.95),
        ("few of ours against many of theirs", 6, 0.0123, 0.001, 101, 0.0140, 0.0002, 0.95),
        ("another confidence", 10, 7, 0.5, 12, 6.5, 0.3, 0.9),
    ]:
        s1 = h1 * math.sqrt(n1) / stats.t.isf((1 - conf) / 2, n1 - 1)
        s2 = h2 * math.sqrt(n2) / stats.t.isf((1 - conf) / 2, n2 - 1)
        r = stats.ttest_ind_from_stats(math.log(m1), s1 / m1, n1, math.log(m2), s2 / m2, n2, equal_var=False)
        v1, v2 = (s1 / m1) ** 2 / n1, (s2 / m2) ** 2 / n2
        df = (v1 + v2) ** 2 / (v1 ** 2 / (n1 - 1) + v2 ** 2 / (n2 - 1))
        lo, hi = stats.t.interval(conf, df, math.log(m1 / m2), math.sqrt(v1 + v2))
        rows.append([words, n1, m1, h1, n2, m2, h2, conf, m1 / m2, math.exp(lo), math.exp(hi), r.pvalue])
    table("moments.csv", ["words", "n1", "mean1", "half1", "n2", "mean2", "half2", "confidence", "ratio", "lo", "hi", "p"], rows)


def holm():
    rows = []
    for ps in [[0.01, 0.04, 0.03, 0.005], [0.5], [0.9, 0.6, 0.7], [0.02, 0.02, 0.02], [0.04, 1e-9, 0.2, 0.03, 0.03, 0.8]]:
        rows.append([ps, multipletests(ps, method="holm")[1]])
    table("holm.csv", ["p", "adjusted"], rows)


def replications():
    rows = []
    for sd, half, conf in [(1, 1, .95), (1, 0.1, .95), (2.5, 0.05, .99), (0.01, 5, .95), (3, 1, .9), (100, 0.1, .95)]:
        n = max(2, int((stats.norm.isf((1 - conf) / 2) * sd / half) ** 2) - 1)  # a lower bound: t is above z
        while stats.t.isf((1 - conf) / 2, n - 1) * sd / math.sqrt(n) > half:
            n += 1
        rows.append([sd, half, conf, n])
    table("replications.csv", ["sd", "half_width", "confidence", "n"], rows)


def grid(levels, reps, blocks=0, drop=(), noise=1.0, offset=0.0, seed=1):
    """rows of a design: dicts of factors, block and y; drop names rows left out"""
    r = np.random.default_rng(seed)
    rows = []
    names = list(levels)
    combos = [()]
    for n in names:
        combos = [c + (l,) for c in combos for l in levels[n]]
    for k in range(blocks or reps):
        shift = r.normal(0, 2) if blocks else 0
        for i, c in enumerate(combos):
            y = offset + shift + r.normal(0, noise)
            for j, l in enumerate(c):
                y += (levels[names[j]].index(l) + 1) * (0.7 + 0.4 * j)
            if len(c) > 1:
                y += 0.8 * levels[names[0]].index(c[0]) * levels[names[1]].index(c[1])
            rows.append(dict(zip(names, c), block="b%02d" % (k + 1) if blocks else "", y=y))
    return [row for i, row in enumerate(rows) if i not in drop]


AB = {"a": ["p", "q", "r"], "b": ["u", "v"]}
ABC = {"a": ["p", "q"], "b": ["u", "v", "w"], "c": ["s", "t"]}
# name, rows, interactions, types: in words what each is
DESIGNS = [
    ("one factor", grid({"a": ["p", "q", "r"]}, 5, seed=2), True, [1, 2, 3]),
    ("one factor, different n", grid({"a": ["p", "q", "r"]}, 7, drop=[0, 3, 6, 4, 20], seed=3), True, [1, 2, 3]),
    ("two factors, balanced", grid(AB, 4, seed=4), True, [1, 2, 3]),
    ("two factors, unbalanced", grid(AB, 5, drop=[0, 6, 12, 3, 9, 11, 25], seed=5), True, [1, 2, 3]),
    ("three factors, balanced", grid(ABC, 3, seed=6), True, [1, 2, 3]),
    ("three factors, unbalanced", grid(ABC, 4, drop=[0, 12, 24, 5, 17, 8, 30, 33, 47], seed=7), True, [1, 2, 3]),
    ("complete blocks", grid(AB, 0, blocks=8, seed=8), True, [1, 2, 3]),
    ("blocks with missing trials", grid(AB, 0, blocks=9, drop=[0, 7, 20, 33, 34], seed=9), True, [1, 2, 3]),
    ("three factors, blocks, missing trials", grid(ABC, 0, blocks=5, drop=[1, 14, 50], seed=10), True, [1, 2, 3]),
    ("no replication", grid({"a": ["p", "q", "r", "s"], "b": ["u", "v", "w"]}, 1, seed=11), False, [1, 2, 3]),
    ("a treatment without trials", grid({"a": ["p", "q", "r"], "b": ["u", "v", "w"]}, 4, drop=[4, 13, 22, 31, 0, 8], seed=12), False, [1, 2, 3]),
    ("small effects on a large mean", grid(AB, 4, offset=2.0 ** 20, noise=0.5, seed=13), True, [1, 2, 3]),
]


def fitted(rows, interactions, contrast="Sum"):
    df = pd.DataFrame(rows)
    df["y"] = df["y"] - np.round(df["y"].mean())  # sums of squares do not mind; digits do
    factors = [c for c in df.columns if c not in ("block", "y")]
    f = ("*" if interactions else "+").join("C(%s, %s)" % (c, contrast) for c in factors)
    if df["block"].iloc[0]:
        f = "C(block, %s) + " % contrast + f
    return smf.ols("y ~ " + f, df).fit(), df, factors


def plain(term):
    return term.replace("C(", "").replace(", Sum)", "")


def anova():
    data, lines, effects, spreads = [], [], [], []
    for name, rows, interactions, types in DESIGNS:
        m, df, factors = fitted(rows, interactions)
        for r in rows:
            data.append([name] + [r.get(c, "") for c in "abc"] + [r["block"], r["y"]])
        total = float(np.sum((df["y"] - df["y"].mean()) ** 2))
        sequential = anova_lm(m, typ=1)
        for typ in types:
            t = anova_lm(m, typ=typ)
            for term in t.index:
                if term == "Intercept":
                    continue
                ss = t.loc[term, "sum_sq"]
                f, p = ("nan", "nan") if term == "Residual" else (t.loc[term, "F"], t.loc[term, "PR(>F)"])
                lines.append([name, typ, plain(term), int(t.loc[term, "df"]), ss, f, p, ss / total, sequential.loc[term, "sum_sq"] / total])
        ci = m.conf_int(0.05)
        for par in m.params.index:
            if par == "Intercept" or "block" in par:
                continue
            terms = ":".join(x.split(",")[0][2:] for x in par.split(":"))
            levels = "|".join(x.split("[S.")[1][:-1] for x in par.split(":"))
            effects.append([name, terms, levels, m.params[par], ci.loc[par, 0], ci.loc[par, 1]])
        if df["block"].iloc[0]:
            # Henderson's third method with explicit projections
            y = df["y"].to_numpy()
            T = patsy.dmatrix("*".join("C(%s)" % c for c in factors), df, return_type="matrix")
            Z = patsy.dmatrix("0 + C(block)", df, return_type="matrix")
            hat = lambda X: np.asarray(X) @ np.linalg.pinv(np.asarray(X))
            PT, PA = hat(T), hat(np.hstack([T, Z]))
            mse = y @ (np.eye(len(y)) - PA) @ y / (len(y) - np.linalg.matrix_rank(np.hstack([T, Z])))
            ss = y @ (PA - PT) @ y
            Z = np.asarray(Z)
            v = (ss - (Z.shape[1] - 1) * mse) / np.trace(Z.T @ (np.eye(len(y)) - PT) @ Z)
            spreads.append([name, math.sqrt(max(0, v))])
    table("designs.csv", ["design", "a", "b", "c", "block", "y"], data)
    table("anova.csv", ["design", "type", "term", "df", "ss", "f", "p", "eta_squared", "variation"], lines)
    table("effects.csv", ["design", "term", "levels", "value", "lo", "hi"], effects)
    table("blocksd.csv", ["design", "sd"], spreads)


def checks():
    rows = []
    for words, x in list(samples()) + [("uniform", rng.uniform(0, 1, 200)), ("exponential", rng.exponential(1, 15))]:
        x = np.asarray(x)
        if len(x) >= 8:
            a, p = normal_ad(x - x[0])
            rows.append(["normality", words, a, p, x, "", ""])
    for words, g in [
        ("equal variance", [rng.normal(0, 1, 10), rng.normal(3, 1, 10), rng.normal(5, 1, 10)]),
        ("unequal variance, different n", [rng.normal(0, 1, 12), rng.normal(0, 4, 7), rng.normal(0, 1, 9)]),
        ("two of three", [np.array([1., 2, 4]), np.array([5., 9, 30])]),
    ]:
        w = stats.levene(*g, center="median")
        g = list(g) + [""] * (3 - len(g))
        rows.append(["equal variance", words, w.statistic, w.pvalue, *g])
    for words, x, method in [
        ("no trend", rng.normal(0, 1, 20), "exact"),
        ("rising", np.arange(12) + rng.normal(0, 2, 12), "exact"),
        ("four values", np.array([1., 3, 2, 4]), "exact"),
        ("strictly falling", -np.arange(9.), "exact"),
        ("sixty", rng.normal(0, 1, 60) + np.arange(60) / 60, "exact"),
        ("many", rng.normal(0, 1, 500), "asymptotic"),
        ("ties", np.round(rng.normal(0, 1, 40) + np.arange(40) / 40), "asymptotic"),
    ]:
        k = stats.kendalltau(np.arange(len(x)), x, method=method)
        rows.append(["trend", words, k.statistic, k.pvalue, x, "", ""])
    gone(307 + 300 + 90)
    # trend within blocks: Kendall scores and their variances added up (Hirsch,
    # Slack & Smith 1982); no library has it
    blocks = [np.round(rng.normal(0, 2, 5) + np.arange(5)) for _ in range(6)]
    score = sum(np.sign(x[j] - x[i]) for x in blocks for i in range(5) for j in range(i + 1, 5))
    tied = sum(x[i] == x[j] for x in blocks for i in range(5) for j in range(i + 1, 5))
    var = sum((5 * 4 * 15 - sum(t * (t - 1) * (2 * t + 5) for t in np.unique(x, return_counts=True)[1])) / 18 for x in blocks)
    rows.append(["trend within blocks of 5", "ties", score / math.sqrt(60 * (60 - tied)), 2 * stats.norm.sf((abs(score) - 1) / math.sqrt(var)), np.concatenate(blocks), "", ""])
    table("checks.csv", ["check", "words", "statistic", "p", "a", "b", "c"], rows)


def order():
    """F of place and of predecessor after treatment and block, statsmodels type II"""
    r = np.random.default_rng(31)
    data, out = [], []
    for name, place, carry in [("order does not matter", 0, 0), ("later is slower", 1.0, 0), ("q leaves heat behind", 0, 2.0)]:
        rows = []
        for b in range(8):
            before = ""
            for k, t in enumerate(r.permutation(["p", "q", "r", "s"])):
                y = {"p": 1, "q": 2, "r": 3, "s": 3}[t] + place * k + carry * (before == "q") + r.normal()
                rows.append({"a": t, "block": "b%d" % b, "place": str(k), "before": before, "y": y})
                before = t
        df = pd.DataFrame(rows)
        for row in rows:
            data.append([name, row["a"], "", "", row["block"], row["y"]])
        for what in ["place", "before"]:
            t = anova_lm(smf.ols("y ~ C(block) + C(a) + C(%s)" % what, df).fit(), typ=2)
            out.append([name, what, t.loc["C(%s)" % what, "F"], t.loc["C(%s)" % what, "PR(>F)"]])
    table("order_designs.csv", ["design", "a", "b", "c", "block", "y"], data)
    table("order.csv", ["design", "what", "f", "p"], out)


def spread():
    """Miller's jackknife (1968) of log variances; no library has it, so here is
    the definition: pseudo-values of log sd, Welch of their means (statsmodels),
    averaged over strata. And the mean of one figure a block (scipy)."""
    r = np.random.default_rng(6)
    rows = []
    for words, strata in [("one stratum", [(8, 12, 1, 3)]), ("two strata", [(6, 6, 1, 2), (9, 5, 40, 50)]), ("alike, far from 0", [(10, 10, 1, 1)])]:
        a = [r.normal(1000, s, n) for n, _, s, _ in strata]
        b = [r.normal(900, s, n) for _, n, _, s in strata]
        estimate, var, below = 0, 0, 0
        for sign, sets in [(1, a), (-1, b)]:
            for x in sets:
                n = len(x)
                pseudo = np.array([n * math.log(np.std(x, ddof=1)) - (n - 1) * math.log(np.std(np.delete(x, i), ddof=1)) for i in range(n)])
                v = pseudo.var(ddof=1) / n
                estimate, var, below = estimate + sign * pseudo.mean(), var + v, below + v * v / (n - 1)
        k, df = len(strata), var * var / below
        half = stats.t.isf(0.025, df) * math.sqrt(var) / k
        rows.append([words, "|".join(show(x) for x in a), "|".join(show(x) for x in b), math.exp(estimate / k), math.exp(estimate / k - half), math.exp(estimate / k + half),
                     2 * stats.t.sf(abs(estimate / math.sqrt(var)), df)])
    table("spread.csv", ["words", "a", "b", "ratio", "lo", "hi", "p"], rows)
    rows = []
    for n, mean, sd in [(2, 1, 1), (5, 23.6, 0.4), (12, -3, 2)]:
        x = r.normal(mean, sd, n)
        t = stats.ttest_1samp(x, 0)
        rows.append([x, x.mean(), *t.confidence_interval(0.95), t.pvalue])
    table("one.csv", ["x", "mean", "lo", "hi", "p"], rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["spread"]:
        spread()
        sys.exit()
    dist()
    summary()
    gone(20 + 35 + 12)
    outliers()
    compare()
    moments()
    holm()
    gone(781)
    replications()
    anova()
    checks()
    order()
    spread()

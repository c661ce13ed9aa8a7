# Makes tables and what scipy and statsmodels say of them, for analyze_test.go:
# python oracle.py
import itertools, json, math
import numpy as np, pandas as pd, scipy, scipy.stats as st, statsmodels
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20)


def table(blocked, unbalanced, twice):
    rows = []
    for rep in range(1, 9):
        shift = rng.normal(0, 0.05)
        for a, b in itertools.product(["p", "q"], ["x", "y", "z"]):
            if unbalanced and (a, b, rep) in {("p", "x", 3), ("q", "z", 5), ("q", "z", 6)}:
                continue
            for _ in range(2 if twice else 1):
                mean = {"p": 1.0, "q": 2.0}[a] * {"x": 1.0, "y": 1.1, "z": 3.0}[b]
                rows.append((a, b, rep, float(np.round(mean * math.exp(shift + rng.normal(0, 0.08)), 6))))
    d = pd.DataFrame(rows, columns=["a", "b", "rep", "y"])
    return d.sample(frac=1, random_state=7).reset_index(drop=True) if not blocked else d


def t_interval(x):
    h = st.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
    return [x.mean() - h, x.mean() + h]


def contrast(u, v, blocked):
    """u, v: Series by block, or bare values."""
    if blocked:
        both = pd.concat([u, v], axis=1, join="inner")
        d = np.log(both.iloc[:, 0]) - np.log(both.iloc[:, 1])
        r = st.ttest_1samp(d, 0)
        ci = r.confidence_interval(0.95)
        return math.exp(d.mean()), [math.exp(ci.low), math.exp(ci.high)], r.pvalue, (both.iloc[:, 0] - both.iloc[:, 1]).mean()
    r = st.ttest_ind(np.log(u), np.log(v), equal_var=False)
    ci = r.confidence_interval(0.95)
    return math.exp(np.log(u).mean() - np.log(v).mean()), [math.exp(ci.low), math.exp(ci.high)], r.pvalue, u.mean() - v.mean()


def oracle(d, blocked, kind):
    if blocked:
        d = d.groupby(["a", "b", "rep"], as_index=False).y.mean()
    out = {"groups": [], "contrasts": []}
    cells = {}
    for (a, b), g in d.groupby(["a", "b"]):
        y = g.set_index("rep").y if blocked else g.y
        cells[a, b] = y
        out["groups"].append({"by": {"a": a, "b": b}, "n": len(y), "mean": y.mean(), "sd": y.std(ddof=1), "ci": t_interval(y), "median": y.median()})
    ps = []
    for k, l in itertools.combinations(cells, 2):
        ratio, ci, p, diff = contrast(cells[k], cells[l], blocked)
        ps.append(p)
        out["contrasts"].append({"between": [{"a": k[0], "b": k[1]}, {"a": l[0], "b": l[1]}], "ratio": ratio, "ratio_ci": ci, "p": p, "difference": diff})
    for c, p in zip(out["contrasts"], multipletests(ps, method="holm")[1]):
        c["p_holm"] = p
    f = "y ~ " + ("C(rep, Sum) + " if blocked else "") + "C(a, Sum) * C(b, Sum)"
    t = anova_lm(smf.ols(f, d).fit(), typ=kind)
    names = {"C(rep, Sum)": "block", "C(a, Sum)": "a", "C(b, Sum)": "b", "C(a, Sum):C(b, Sum)": "a:b"}
    out["terms"] = {names[i]: {"df": int(r["df"]), "ss": r["sum_sq"], "f": r["F"], "p": r["PR(>F)"]} for i, r in t.iterrows() if i in names}
    out["residual"] = {"df": int(t.loc["Residual", "df"]), "ss": t.loc["Residual", "sum_sq"]}
    out["type"] = {1: "I", 3: "III"}[kind]
    return out


cases = {"blocked": (True, False, False, 1), "twice": (True, False, True, 1), "unblocked": (False, False, False, 1), "unbalanced": (True, True, False, 3)}
result = {"versions": {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "pandas": pd.__version__}}
for name, (blocked, unbalanced, twice, kind) in cases.items():
    d = table(blocked, unbalanced, twice)
    d.to_csv(f"{name}.csv", index=False)
    result[name] = oracle(d, blocked, kind) | {"blocked": blocked}
json.dump(result, open("oracle.json", "w"), indent=1)

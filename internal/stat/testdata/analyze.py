"""Compares edgegauge analyze with statsmodels and scipy, on data made up anew.

    python3 -m venv VENV && VENV/bin/pip install scipy==1.17.1 statsmodels==0.15.0 pandas==3.1.1
    VENV/bin/python analyze.py EDGEGAUGE [DESIGNS [SEED]]

It draws designs (one to three factors, balanced or not, blocks or not, several
rows a cell and block), runs the program on each, and holds every group, every
line of the analysis of variance of type I, II and III, and every contrast
against a library's own function. It prints the worst relative difference of
each kind, and fails above 1e-9.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

warnings.simplefilter("ignore")
LIMIT = 1e-9
worst = {}


def same(kind, got, want, where, least=0.0):
    """Relative difference; of what may come near nothing, relative to least."""
    if got is None or math.isnan(want):
        if not (got is None and math.isnan(want)):
            sys.exit(f"{where}: {kind}: got {got}, want {want}")
        return
    d = abs(got - want) / max(abs(want), least, 1e-300)
    if d > worst.get(kind, (0, ""))[0]:
        worst[kind] = (d, where)
    if d > LIMIT:
        sys.exit(f"{where}: {kind}: got {got!r}, want {want!r}")


def design(rng):
    factors = ["a", "b", "c"][: rng.integers(1, 4)]
    levels = {f: [f"{f}{i}" for i in range(rng.integers(2, 5 - (len(factors) == 3)))] for f in factors}
    effect = {f: rng.normal(0, 1, len(levels[f])) for f in factors}
    blocks = rng.integers(3, 9) if rng.random() < 0.5 else 0
    balanced = rng.random() < 0.3
    rows = []
    for cell in itertools.product(*levels.values()):
        mean = 20 + sum(effect[f][levels[f].index(l)] for f, l in zip(factors, cell)) + rng.normal(0, 0.5)
        for block in range(blocks):
            if not balanced and block > 1 and rng.random() < 0.15:
                continue
            for _ in range(1 if balanced else rng.integers(1, 3)):
                rows.append((*cell, f"r{block}", mean + 0.3 * block + rng.normal(0, 0.7)))
        if not blocks:
            for _ in range(4 if balanced else rng.integers(2, 7)):
                rows.append((*cell, "", mean + rng.normal(0, 0.7)))
    t = pd.DataFrame(rows, columns=[*factors, "rep", "y"]).sample(frac=1, random_state=int(rng.integers(1 << 30)))
    return factors, bool(blocks), t


def run(program, factors, blocked, t, kind):
    with tempfile.TemporaryDirectory() as d:
        f = os.path.join(d, "t.csv")
        t.to_csv(f, index=False)
        args = [program, "analyze", f, "--response", "y", "--by", ",".join(factors), "--json", "--type", str(kind)]
        return json.loads(subprocess.run(args + (["--block", "rep"] if blocked else []), check=True, capture_output=True).stdout)


def cell(t, factors, by):
    for f in factors:
        t = t[t[f] == by[f]]
    return t


def check_groups(got, factors, t, where):
    for g in got["groups"]:
        y = cell(t, factors, g["by"]).y.to_numpy()
        same("n", g["n"], len(y), where)
        same("mean", g["mean"], float(DescrStatsW(y).mean), where)
        same("sd", g["sd"], float(np.std(y, ddof=1)), where)
        lo, hi = stats.t.interval(0.95, len(y) - 1, loc=y.mean(), scale=stats.sem(y))
        same("ci", g["ci"][0], lo, where, 1)
        same("ci", g["ci"][1], hi, where, 1)
        same("median", g["median"], float(np.median(y)), where)
        want = None
        for k in range(1, len(y) // 2 + 1):  # the narrowest pair of order statistics with at most half the rest on each side
            if stats.binom.cdf(k - 1, len(y), 0.5) <= 0.025:
                want = (np.sort(y)[k - 1], np.sort(y)[len(y) - k])
        if (want is None) != (g["median_ci"] is None):
            sys.exit(f"{where}: median_ci: got {g['median_ci']}, want {want}")
        for i in range(2 if want else 0):
            same("median_ci", g["median_ci"][i], want[i], where)


def check_anova(got, factors, blocked, t, kind, where):
    fit = smf.ols("y ~ " + ("C(rep, Sum) + " if blocked else "") + " * ".join(f"C({f}, Sum)" for f in factors), t).fit()
    total = float(((t.y - t.y.mean()) ** 2).sum())

    def lines(typ):
        def name(index):
            return ":".join("block" if p.startswith("C(rep") else p[2:].split(",")[0] for p in index.split(":"))

        return {name(i): row for i, row in anova_lm(fit, typ=typ).iterrows() if i not in ("Residual", "Intercept")}

    want, in_order, a = lines(kind), lines(1), got["anova"]
    if a["type"] != "I" * kind or [x["term"] for x in a["terms"]] != list(want):
        sys.exit(f"{where}: got type {a['type']} and terms {[x['term'] for x in a['terms']]}, want {list(want)}")
    for x in a["terms"]:
        w = want[x["term"]]
        same("df", x["df"], w.df, where)
        same("ss", x["ss"], w.sum_sq, where, 1e-3 * total)
        same("f", x["f"], w.F, where, 1e-2)
        same("anova p", x["p"], w["PR(>F)"], where, 1e-6)
        same("eta_squared", x["eta_squared"], w.sum_sq / total, where, 1e-3)
        same("variation", x["variation"], in_order[x["term"]].sum_sq / total, where, 1e-3)
    same("residual df", a["residual"]["df"], fit.df_resid, where)
    same("residual ss", a["residual"]["ss"], fit.ssr, where)


def steadied(found):
    """p of each (difference of means, variance of a replicate, replicates, degrees of freedom, least replicates, p)"""
    few = sorted(v for _, v, _, _, least, _ in found if least < 6)
    usual = few[(len(few) - 1) // 2] if few else 0
    return [2 * stats.t.sf(abs(m) / math.sqrt(usual / n), df) if least < 6 and v < usual else p for m, v, n, df, least, p in found]


def check_contrasts(got, factors, blocked, t, where):
    found = []
    for c in got["contrasts"]:
        x, y = (cell(t, factors, by).set_index("rep").y for by in c["between"])
        if blocked:
            both = x.index.intersection(y.index)
            a, b = x.loc[both].to_numpy(), y.loc[both].to_numpy()
            d = np.log(a) - np.log(b)
            p, (lo, hi) = stats.ttest_1samp(d, 0).pvalue, DescrStatsW(d).tconfint_mean(0.05)
            m, v, n, df, least = d.mean(), d.var(ddof=1), len(d), len(d) - 1, len(d)
        else:
            a, b = x.to_numpy(), y.to_numpy()
            cm = CompareMeans(DescrStatsW(np.log(a)), DescrStatsW(np.log(b)))
            p, (lo, hi) = cm.ttest_ind(usevar="unequal")[1], cm.tconfint_diff(0.05, usevar="unequal")
            n, least = 1 / (1 / len(a) + 1 / len(b)), min(len(a), len(b))
            va, vb = np.log(a).var(ddof=1) / len(a), np.log(b).var(ddof=1) / len(b)
            m, v, df = np.log(a).mean() - np.log(b).mean(), (va + vb) * n, (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        same("difference", c["difference"], float(a.mean() - b.mean()), where, 1e-2)
        same("ratio", c["ratio"], math.exp(np.log(a).mean() - np.log(b).mean()), where)
        same("ratio_ci", c["ratio_ci"][0], math.exp(lo), where)
        same("ratio_ci", c["ratio_ci"][1], math.exp(hi), where)
        same("contrast p", c["p"], p, where, 1e-6)
        found.append((m, v, n, df, least, p))
    for c, want in zip(got["contrasts"], multipletests(steadied(found), method="holm")[1]):
        same("p_holm", c["p_holm"], want, where, 1e-6)
    cells = len(t.groupby(factors))
    same("contrasts", len(got["contrasts"]), cells * (cells - 1) // 2, where)


def main():
    program = os.path.abspath(sys.argv[1])
    designs = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = np.random.default_rng(seed)
    kinds = {}
    for i in range(designs):
        factors, blocked, raw = design(rng)
        t = raw.groupby([*factors, "rep"], as_index=False, sort=False).y.mean() if blocked else raw
        for kind in (1, 2, 3):
            what = f"{len(factors)} factors, {'blocks' if blocked else 'no blocks'}"
            where = f"design {i} of seed {seed}, type {kind}, {what}"
            got = run(program, factors, blocked, raw, kind)
            check_anova(got, factors, blocked, t, kind, where)
            if kind == 1:
                check_groups(got, factors, t, where)
                check_contrasts(got, factors, blocked, t, where)
        kinds[what] = kinds.get(what, 0) + 1
    print(", ".join(f"{v} × {k}" for k, v in sorted(kinds.items())))
    for k, (d, where) in sorted(worst.items()):
        print(f"{k:14} {d:.1e}  {where}")


main()

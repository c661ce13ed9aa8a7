"""Writes incomplete_designs.csv (drawn fleets in which benches lack treatments) and incomplete.csv: what OLS and MixedLM
of statsmodels say of them.

    VENV/bin/python incomplete.py

Fixed: y ~ treatment + block, and the F of treatment:bench. Random: REML of y ~ treatment + block with treatment by
bench random. Contrasts are of treatments 2 and 1. Where benches did equal numbers of blocks, estimates and errors of
the mixed model are those of least squares over benches.
"""
import os
import warnings
import numpy as np
import pandas as pd
import statsmodels
import statsmodels.api as sm
import statsmodels.formula.api as smf

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
# treatments, blocks of each bench, treatments that each bench lacks, spreads: treatment by bench, block, error
DESIGNS = [
    (3, [4, 4, 4, 4], [[3], [], [], [1]], 0.1, 0.05, 0.03),
    (4, [3] * 6, [[1, 2], [1], [], [4], [], [2]], 0.05, 0.03, 0.05),
    (3, [5, 5, 5], [[3], [1], []], 0.2, 0.05, 0.05),
    (4, [2, 6, 9, 4], [[4], [], [1], [2]], 0.1, 0.05, 0.03),
    (3, [3, 8, 5, 2, 4], [[1], [2], [3], [], []], 0.05, 0.03, 0.06),
]


def draw(i, k, blocks, lacks, si, sk, se, rng):
    rows, block = [], 0
    for b, n in enumerate(blocks, 1):
        bench, own = 0.2 * rng.standard_normal(), si * rng.standard_normal(k)
        for _ in range(n):
            block += 1
            shared = sk * rng.standard_normal()
            for t in range(1, k + 1):
                if t not in lacks[b - 1]:
                    rows.append((i, b, block, t, 0.1 * t + bench + own[t - 1] + shared + se * rng.standard_normal()))
    return rows


def main():
    rng = np.random.default_rng(23)
    rows = sum((draw(i, *d, rng) for i, d in enumerate(DESIGNS, 1)), [])
    with open(os.path.join(HERE, "incomplete_designs.csv"), "w") as f:
        f.write("# made by incomplete.py: numpy %s\ndesign,bench,block,treatment,y\n" % np.__version__)
        for r in rows:
            f.write("%d,%d,%d,%d,%r\n" % (*r[:4], float(r[4])))
    d = pd.DataFrame(rows, columns=["design", "bench", "block", "treatment", "y"])
    with open(os.path.join(HERE, "incomplete.csv"), "w") as f:
        f.write("# made by incomplete.py: statsmodels %s\n" % statsmodels.__version__)
        f.write("design,equal,f,df1,df2,interaction,error,center,center_se,these,these_se,full_se\n")
        for i, x in d.groupby("design"):
            additive = smf.ols("y ~ C(treatment) + C(block)", x).fit()
            cells = smf.ols("y ~ C(block) + C(treatment):C(bench)", x).fit()
            df1, df2 = additive.df_resid - cells.df_resid, cells.df_resid
            df1, df2 = round(df1), round(df2)
            s2 = cells.ssr / df2
            test = (additive.ssr - cells.ssr) / df1 / s2
            m = smf.mixedlm("y ~ C(treatment) + C(block)", x, groups=np.ones(len(x)),
                            re_formula="0", vc_formula={"tb": "0 + C(treatment):C(bench)"})
            r = max((m.fit(reml=True, method=how, maxiter=20000) for how in ("powell", "bfgs", "nm")), key=lambda r: r.llf)
            name = "C(treatment)[T.2]"
            # least squares over benches, each once: by hand, from the means
            means = x.groupby(["bench", "treatment"]).y.mean().reset_index()
            table = smf.ols("y ~ C(treatment) + C(bench)", means).fit()
            c = table.model.exog_names.index(name)
            w = np.linalg.pinv(table.model.exog)[c]  # the estimate is w . means
            n = means.bench.map(x.groupby("bench").block.nunique()).to_numpy()
            these = np.sqrt(s2 * np.sum(w * w / n))
            full = np.sqrt(np.sum(w * w * (r.vcomp[0] + r.scale / n)))
            f.write("%d,%d,%r,%d,%d,%r,%r,%r,%r,%r,%r,%r\n" % (
                i, len(set(DESIGNS[i - 1][1])) == 1, float(test), df1, df2, float(r.vcomp[0]), float(r.scale),
                float(r.params[name]), float(r.bse[name]), float(w @ means.y), float(these), float(full)))


main()

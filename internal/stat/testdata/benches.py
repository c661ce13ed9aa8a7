"""Writes benches_designs.csv (drawn fleets) and benches_mixedlm.csv (their components by statsmodels); see benches.R.

    VENV/bin/python benches.py designs
    VENV/bin/python benches.py mixedlm
"""
import os
import sys
import numpy as np
import pandas as pd
import statsmodels
import statsmodels.formula.api as smf

HERE = os.path.dirname(os.path.abspath(__file__))
# treatments, blocks of each bench, spreads: bench, treatment by bench, block, error
DESIGNS = [
    (4, [5] * 8, 0.2, 0.05, 0.03, 0.03),
    (3, [10] * 3, 0.2, 0.1, 0.05, 0.02),
    (2, [4, 4], 0.3, 0.1, 0.05, 0.05),
    (4, [2, 5, 9, 3, 12], 0.2, 0.05, 0.05, 0.03),
    (6, [3, 7, 4], 0.1, 0.05, 0.05, 0.03),
    (2, [20, 3, 2, 8, 8, 8], 0.2, 0.02, 0.04, 0.05),
    (5, [6] * 6, 0.2, 0.0, 0.05, 0.05),
]


def designs():
    rng = np.random.default_rng(17)
    with open(os.path.join(HERE, "benches_designs.csv"), "w") as f:
        f.write("# made by benches.py: numpy %s\n" % np.__version__)
        f.write("design,bench,block,treatment,y\n")
        for i, (k, blocks, sb, si, sk, se) in enumerate(DESIGNS, 1):
            block = 0
            for b, n in enumerate(blocks, 1):
                bench, own = sb * rng.standard_normal(), si * rng.standard_normal(k)
                for _ in range(n):
                    block += 1
                    shared = sk * rng.standard_normal()
                    for t in range(k):
                        y = 0.1 * t + bench + own[t] + shared + se * rng.standard_normal()
                        f.write("%d,%d,%d,%d,%r\n" % (i, b, block, t + 1, float(y)))


def mixedlm():
    d = pd.read_csv(os.path.join(HERE, "benches_designs.csv"), comment="#")
    with open(os.path.join(HERE, "benches_mixedlm.csv"), "w") as f:
        f.write("# made by benches.py: statsmodels %s MixedLM, REML\n" % statsmodels.__version__)
        f.write("design,bench,interaction,block,error\n")
        for i, x in d.groupby("design"):
            m = smf.mixedlm("y ~ C(treatment)", x, groups="bench", re_formula="1",
                            vc_formula={"t": "0 + C(treatment)", "k": "0 + C(block)"})
            fits = [m.fit(reml=True, method=how, maxiter=20000) for how in ("powell", "bfgs", "nm")]
            r = max(fits, key=lambda r: r.llf)
            names = dict(zip(m.exog_vc.names, r.vcomp))
            f.write("%d,%r,%r,%r,%r\n" % (i, float(r.cov_re.iloc[0, 0]), float(names["t"]), float(names["k"]), float(r.scale)))


if __name__ == "__main__":
    {"designs": designs, "mixedlm": mixedlm}[sys.argv[1]]()

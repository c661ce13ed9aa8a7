"""Writes range.csv: tails and limits of the studentized range, from scipy.

    python3 -m venv VENV && VENV/bin/pip install scipy==1.17.1
    VENV/bin/python range.py
"""
import os
import scipy
from scipy.stats import studentized_range as sr

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "range.csv"), "w") as f:
    f.write("# made by range.py: scipy %s\n" % scipy.__version__)
    f.write("k,df,q,upper,limit95,limit99\n")
    for k in (2, 3, 5, 11, 30):
        for df in (2, 4, 9, 29, 100):
            lim95, lim99 = sr.ppf(0.95, k, df), sr.ppf(0.99, k, df)
            for q in (1.0, 3.0, lim95, 8.0):
                f.write("%d,%d,%r,%r,%r,%r\n" % (k, df, float(q), float(sr.sf(q, k, df)), float(lim95), float(lim99)))

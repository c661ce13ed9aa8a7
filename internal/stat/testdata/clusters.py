"""Writes clusters.csv: the limit that the best split of n normal values passes in 1 % of samples.

    python3 -m venv VENV && VENV/bin/pip install numpy==2.4.6
    VENV/bin/python clusters.py

The statistic is the share of the sum of squares between the two sides of the best split of the sorted
values, each side at least max(2, n//6) values: the definition, written out here without the Go code.
"""
import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20120714)


def best_split(x):
    x = np.sort(x, axis=1)
    n = x.shape[1]
    least = max(2, n // 6)
    x = x - x.mean(axis=1, keepdims=True)
    total = (x * x).sum(axis=1)
    left = np.cumsum(x, axis=1)
    best = np.zeros(len(x))
    for k in range(least, n - least + 1):
        s = left[:, k - 1]
        best = np.maximum(best, s * s / k + s * s / (n - k))
    return best / total


if __name__ == "__main__":
    with open(os.path.join(HERE, "clusters.csv"), "w") as f:
        f.write("# made by clusters.py: numpy %s, 400,000 normal samples a row\n" % np.__version__)
        f.write("n,limit\n")
        for n in list(range(5, 21)) + [25, 30, 40, 60, 100, 200]:
            parts = [best_split(rng.standard_normal((20000, n))) for _ in range(20)]
            f.write("%d,%.5f\n" % (n, np.quantile(np.concatenate(parts), 0.99)))

"""Apache Otava (PyPI: apache-otava 0.8.0) on the histories of `edgegauge bench history`.

An outside oracle: no part of edgegauge uses it. PYTHONPATH=FOLDER python3 otava_oracle.py
prints how often E-divisive with the t test suspects what is not there, and how often it
finds a step within four runs. It sees one number a run, as Otava does.
"""
import random
import statistics

from otava.analysis import compute_change_points

NOISE = 0.03  # of a run, on logarithms
HISTORIES, RUNS, STEPS, QUIET = 100, 100, 200, 30


def history(r, n, level=0.0):
    return [1.0 * (1 + level) * 2.718281828459045 ** r.gauss(0, NOISE) for _ in range(n)]


def changes(series, p):
    found = compute_change_points(series, window_len=50, max_pvalue=p, min_magnitude=0.0)
    found = found[0] if isinstance(found, tuple) else found
    return [c.index for c in found]


def main():
    for p in (0.05, 0.01, 0.001):
        r = random.Random(1)
        alarmed = suspects = 0
        for _ in range(HISTORIES):
            xs, seen = history(r, RUNS), set()
            for n in range(6, RUNS + 1):
                for at in changes(xs[:n], p):
                    if not any(abs(at - s) <= 3 for s in seen):
                        seen.add(at)
            alarmed += bool(seen)
            suspects += len(seen)
        found, after = 0, []
        for _ in range(STEPS):
            xs = history(r, QUIET) + history(r, 12, 0.05)
            for n in range(QUIET + 1, QUIET + 13):
                if any(abs(at - QUIET) <= 3 for at in changes(xs[:n], p)):
                    after.append(n - QUIET)
                    found += n <= QUIET + 4
                    break
        print(f"p {p}: alarms in {alarmed} of {HISTORIES} quiet histories of {RUNS} runs, "
              f"{100 * suspects / (HISTORIES * RUNS):.2f} in 100 runs; 5 % step found within 4 runs in "
              f"{100 * found / STEPS:.1f} %, within 12 in {100 * len(after) / STEPS:.1f} % "
              f"(median {statistics.median(after) if after else float('nan'):g} runs)")


if __name__ == "__main__":
    main()

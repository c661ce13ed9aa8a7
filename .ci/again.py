"""Says which tests to run once more: a line of package and -run pattern for each test that failed.

A package that failed without naming a test (a build, a panic, a time-out) is named with all its tests."""
import re
import sys

failed, packages, broken = [], [], False
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    if m := re.match(r"\s*--- FAIL: (\S+)", line):
        failed.append(m[1])
    elif re.match(r"panic: |fatal error: |FAIL\s+\S+ \[", line):
        broken = True
    if (m := re.match(r"FAIL\s+(edgegauge\S*)", line)):
        # A parent fails because its subtests do; those say it more exactly.
        leaves = [t for t in failed if not any(o.startswith(t + "/") for o in failed)]
        if broken or not leaves:
            packages.append((m[1], "."))
        else:
            packages += [(m[1], "/".join(f"^{re.escape(part)}$" for part in leaf.split("/"))) for leaf in leaves]
        failed, broken = [], False
    elif re.match(r"ok\s+edgegauge", line):
        failed, broken = [], False
for package, tests in dict.fromkeys(packages):
    print(package, tests)

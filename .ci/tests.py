"""Reads go test -json: prints what go test prints, writes .cache/again.txt (a line of package and -run pattern for each test
that failed) and .cache/skipped.txt, and exits with 1 if anything failed."""
import json
import re
import sys

output, failed, skipped, packages, broken = {}, {}, [], [], set()


def pattern(test):
    return "/".join(f"^{re.escape(part)}$" for part in test.split("/"))


for line in sys.stdin:
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="", flush=True)
        continue
    action, package, test = event["Action"], event.get("Package", event.get("ImportPath", "")), event.get("Test", "")
    if action in ("output", "build-output"):
        if event["Output"].startswith("panic: "):
            broken.add(package)  # its other tests did not run
        if test:
            output.setdefault((package, test), []).append(event["Output"])
        elif event["Output"] != "PASS\n":
            print(event["Output"], end="", flush=True)
    elif action == "fail" and test:
        failed.setdefault(package, []).append(test)
        print("".join(output.get((package, test), [])), end="", flush=True)
    elif action == "fail":
        packages.append(package)
    elif action == "skip" and test:
        skipped.append(f"{package} {test}: {''.join(output.get((package, test), [])).strip()}")

with open(".cache/again.txt", "w", encoding="utf-8") as f:
    for package in dict.fromkeys(packages):
        tests = failed.get(package, [])
        # A parent fails because its subtests do; those say it more exactly. A package that names none did not build.
        leaves = [t for t in tests if not any(o.startswith(t + "/") for o in tests)]
        for p in ["."] if package in broken or not leaves else [pattern(t) for t in leaves]:
            print(package, p, file=f)
with open(".cache/skipped.txt", "w", encoding="utf-8") as f:
    f.writelines(s + "\n" for s in skipped)
sys.exit(1 if packages else 0)

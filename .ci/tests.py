"""tests.py NAME: reads go test -json and prints what go test prints. Writes .cache/NAME.again (a line of package and -run
pattern for each test that failed), .cache/NAME.skipped, .cache/NAME.count (how many passed and failed) and .cache/NAME.seconds
(those of each test of a second and more); exits with 1 if anything failed."""
import json
import re
import sys

name = sys.argv[1]
output, failed, skipped, packages, broken, passed, seconds = {}, {}, [], [], set(), 0, []


def pattern(test):
    return "/".join(f"^{re.escape(part)}$" for part in test.split("/"))


for line in sys.stdin:
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="", flush=True)
        continue
    action, package, test = event["Action"], event.get("Package", event.get("ImportPath", "")), event.get("Test", "")
    if action in ("pass", "fail") and test and event.get("Elapsed", 0) >= 1:
        seconds.append((event["Elapsed"], package, test))
    if action in ("output", "build-output"):
        if event["Output"].startswith("panic: "):
            broken.add(package)  # its other tests did not run
        if test:
            output.setdefault((package, test), []).append(event["Output"])
        elif event["Output"] != "PASS\n" and "[no test files]" not in event["Output"]:
            print(event["Output"], end="", flush=True)
    elif action == "pass" and test:
        passed += 1
        output.pop((package, test), None)
    elif action == "fail" and test:
        failed.setdefault(package, []).append(test)
        print("".join(output.get((package, test), [])), end="", flush=True)
    elif action == "fail":
        packages.append(package)
    elif action == "skip" and test:
        skipped.append(f"{package} {test}: {''.join(output.get((package, test), [])).strip()}")

with open(f".cache/{name}.again", "w", encoding="utf-8") as f:
    for package in dict.fromkeys(packages):
        tests = failed.get(package, [])
        # A parent fails because its subtests do; those say it more exactly. A package that names none did not build.
        leaves = [t for t in tests if not any(o.startswith(t + "/") for o in tests)]
        for p in ["."] if package in broken or not leaves else [pattern(t) for t in leaves]:
            print(package, p, file=f)
with open(f".cache/{name}.skipped", "w", encoding="utf-8") as f:
    f.writelines(s + "\n" for s in skipped)
with open(f".cache/{name}.count", "w", encoding="utf-8") as f:
    print(passed, sum(len(t) for t in failed.values()), file=f)
with open(f".cache/{name}.seconds", "w", encoding="utf-8") as f:
    f.writelines(f"{s:.0f} {p} {t}\n" for s, p, t in sorted(seconds, reverse=True))
sys.exit(1 if packages else 0)

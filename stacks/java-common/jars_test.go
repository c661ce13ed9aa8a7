package java_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Maven is started where jars have to be fetched, and nowhere else: for all stacks at once by .ci/jars, for one by its
// build.sh if pom.xml is another, or if the jars are not those of its list.
func TestMavenIsStartedForJarsOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("runs shells")
	}
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"build.sh": "stacks/java-common/build.sh", "../../.ci/jars": ".ci/jars"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		put(to, string(text))
	}
	// Its jars are made of the pom.xml; in a project of modules, of each that has the profile.
	put("bin/mvn", `#!/bin/sh
at=.
for word; do
  case $word in
    -P*) profile=${word#-P} ;;
    -f) at= ;;
    -DoutputDirectory=*) folder=${word#*=} ;;
    *) at=${at:-$word} ;;
  esac
done
echo "$profile" >>"$ASKED"
for module in . $(sed -n 's,.*<module>\(.*\)</module>.*,\1,p' "$at" 2>/dev/null); do
  [ "$at" = . ] || cd "$(dirname "$at")/$module"
  if grep -q "<id>$profile</id>" pom.xml; then mkdir -p "$folder" && cp pom.xml "$folder/$profile.jar"; fi
  [ "$at" = . ] || cd "$OLDPWD"
done
`)
	put("bin/javac", "#!/bin/sh\n")
	put("bin/jar", "#!/bin/sh\ntouch build/app.jar\n")
	const run, tools = "<id>run</id>\n", "<id>tools</id>\n"
	for stack, pom := range map[string]string{"a": run, "b": run + tools} {
		put("stacks/"+stack+"/build.sh", "cd \"$(dirname \"$0\")\" && . ../java-common/build.sh\n"+
			"sources=src inputs=\nbuild \"$@\"\n")
		put("stacks/"+stack+"/pom.xml", pom)
		put("stacks/"+stack+"/src/A.java", "")
		put("stacks/"+stack+"/jars.sha256", "")
	}
	asked := filepath.Join(dir, "asked")
	// does runs a command of sh, and compares the profiles that Maven was asked for.
	does := func(command, want string) {
		t.Helper()
		os.Remove(asked)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ASKED="+asked, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
		got, _ := os.ReadFile(asked) // there is none if nobody asked
		if got := strings.Join(strings.Fields(string(got)), " "); got != want {
			t.Errorf("%s: Maven was asked for %q, want %q", command, got, want)
		}
	}
	does("stacks/a/build.sh --pin; stacks/b/build.sh --pin", "run run tools")
	does("stacks/a/build.sh; stacks/b/build.sh", "")
	does("rm -r stacks/*/build; .ci/jars", "run tools")
	does(".ci/jars; stacks/a/build.sh; stacks/b/build.sh", "")
	does("echo changed >stacks/b/src/A.java; stacks/b/build.sh", "")
	does("echo changed >stacks/b/build/tools/tools.jar; rm stacks/b/build/stamp; stacks/b/build.sh", "run tools")
	does("touch stacks/b/build/lib/c.jar; rm stacks/b/build/stamp; stacks/b/build.sh; ! test -e stacks/b/build/lib/c.jar",
		"run tools")
	does("echo >>stacks/a/pom.xml; ! stacks/a/build.sh", "run") // other jars than those of the list
	does("stacks/a/build.sh --pin", "run")
	does("echo changed >stacks/a/src/A.java; stacks/a/build.sh", "")
	does("rm -r stacks/a/build; .ci/jars; stacks/a/build.sh", "run")
}

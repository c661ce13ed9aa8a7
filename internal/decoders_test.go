package internal

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// decoders are the functions, exported or not, that hand bytes to a decoder: by package and target ("no: " and the
// reason why the bytes are no stranger's) their names. What nests in them is theirs.
var decoders = map[string]map[string]string{
	"cmd/edgegauge": {
		"FuzzProbeFile":                "readProbe",
		"internal/study.FuzzParse":     "whichStudy",
		"no: own processes, own files": "app.servePages servePage localFleet.startHub readKeys",
		"no: a person's answer":        "asks",
	},
	"internal/advise/battery":     {"FuzzRead": "Read"},
	"internal/advise/calibration": {"FuzzRead": "Read"},
	"internal/advise/cost":        {"FuzzRead": "Read"},
	"internal/advise/paper": {
		"FuzzParseClaims": "ParseClaims", "no: embedded": "Paper.readTable catalogue plainWords",
	},
	"internal/capacity": {"FuzzStored": "parseNote"},
	"internal/device": {
		"FuzzProfile":                    "readProfile",
		"internal/device/rpc.FuzzFrames": "with Remote.Watch",
		"no: the kernel's":               "findBinary",
		"no: own supervisor":             "Local.newSupervisor receiveOrder localSupervisor.begin localSupervisor.watch",
	},
	"internal/device/qemu": {
		"FuzzMonitor":                 "dialMonitor monitor.do",
		"no: what this program built": "modules open",
		"no: Debian's packages, whose checksums are kept": "unpack",
		"no: the lab's own job":                           "unpackJob",
	},
	"internal/device/rpc":    {"FuzzFrames": "Conn.answered Conn.called reply.into", "FuzzGreeting": "Greet hear"},
	"internal/device/sensor": {"FuzzReadReady": "ReadReady"},
	"internal/drive":         {"FuzzCollect": "Collect", "no: own parent": "Main serveJob"},
	"internal/drive/tally":   {"no: own child": "Histogram.UnmarshalJSON"},
	"internal/fleet":         {"FuzzOrder": "working.reopen"},
	"internal/fleet/hub":     {"no: the operator's file of keys": "users"},
	"internal/fleet/wire": {
		"FuzzSaid":                    "beatOf Bench.told chair.Ask chair.Read Bench.Deliver questionOf replyOf",
		"FuzzDelivered":               "Board.delivery",
		"no: own file of credentials": "ReadCredentials",
	},
	"internal/guest": {"no: the lab's own job, in its machine.": "Conduct"},
	"internal/instrument": {
		"FuzzPowerProfile": "readPowerModel",
		"FuzzExecLines":    "execMeter.waitForHeader parseHeader parseJSON",
		"FuzzPlug":         "plugClient.get",
		"no: the study's":  "openExec",
		"no: the lab's":    "sentModel",
	},
	"internal/instrument/packet": {"FuzzAnalyze": "NewReader"},
	"internal/kernel":            {"no: the kernel's": "eachSocket"},
	"internal/lab": {
		"internal/stack.FuzzConn":              "Lab.showDevices devices.take",
		"internal/device/rpc.FuzzFrames":       "helper.handle",
		"internal/device/qemu.FuzzReadArchive": "inside.enclose",
	},
	"internal/link": {"FuzzProfile": "readProfile", "no: own processes": "Try hear"},
	"internal/report": {
		"FuzzReadConfirms":   "ReadConfirms",
		"FuzzAnswerOfSearch": "answerOfSearch",
		"FuzzFacts": "Report.readFacts Report.addDoubts Report.doubtPrograms " +
			"Report.doubtBenchPrograms Report.runtimes",
	},
	"internal/report/chromium": {"no: the tests' browser": "Browser.Do Browser.Value Browser.listen"},
	"internal/report/pagetest": {"no: the tests' browser": "Browser.Clean"},
	"internal/report/tidy":     {"FuzzRead": "Read"},
	"internal/stack": {"FuzzConn": "NewConn parseHeader", "FuzzExchange": "anyExchange",
		"FuzzDescription": "parseDescription Description.checkOffers"},
	"internal/stack/conform": {
		"FuzzLetter": "strictRelay.forward",
		"no: its caller sees to the time, net/http reads": "suite.asksSlowly truncatedBody.send",
		"no: own messages and credentials":                "compactBads parsePEM readable wrongFields",
	},
	"internal/stat": {"FuzzNumbers": "Interval.UnmarshalJSON Number.UnmarshalJSON"},
	"internal/store": {
		"FuzzTexts":      "decodeTreatment settings asCells",
		"FuzzOpenLedger": "Store.Runs Store.LeftOut Store.Ending Store.trialsAreOf runDigests worked besideOf",
		"no: read whole up to a bound, by encoding/json alone": "Store.Joint Store.WarmUp Store.readFacts isMarked",
	},
	"internal/study":   {"FuzzParse": "loadTree oneLine parseYAML"},
	"internal/testbed": {"internal/report.FuzzFacts": "changedSince"},
	"internal/web": {
		"FuzzForm":    "eachEntry",
		"FuzzAddress": "readStudy place.readText differences trialAt.scheme labCourse.renew",
		"no: own index, own schema, own lab's lines": "newIndex schemaNode.follow Server.Follow",
	},
	"stacks/reference": {
		"no: the lab's own lines": "CheckDevices Tapped parse program.next program.populate program.request " +
			"program.tellShards shard.run",
	},
}

// decoding are the calls by which bytes become values.
var decoding = []string{"json.Unmarshal", "json.NewDecoder", "yaml.Unmarshal", "yaml.Load", "yaml.NewDecoder",
	"csv.NewReader", "xml.Unmarshal", "xml.NewDecoder", "bufio.NewReader", "bufio.NewReaderSize", "bufio.NewScanner",
	"tar.NewReader", "gzip.NewReader", "zip.NewReader", "pem.Decode", "binary.Read", "http.ReadResponse",
	"http.ReadRequest"}

// Every function that decodes bytes is listed with the target that reaches it, and every target exists.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	found, targets := map[string]map[string]bool{}, map[string]bool{}
	eachFunction(t, func(pkg string, test bool, fn *ast.FuncDecl) {
		switch {
		case test:
			targets[pkg+"."+fn.Name.Name] = strings.HasPrefix(fn.Name.Name, "Fuzz")
		case fn.Body != nil && decodes(fn):
			if found[pkg] == nil {
				found[pkg] = map[string]bool{}
			}
			found[pkg][receiver(fn)+fn.Name.Name] = true
		}
	})
	for pkg, by := range decoders {
		for target, names := range by {
			if !strings.Contains(target, ".") {
				target = pkg + "." + target
			}
			if !strings.Contains(target, "no: ") && !targets[target] {
				t.Errorf("%s: the target %s of %s does not exist", pkg, target, names)
			}
			for _, name := range strings.Fields(names) {
				if !found[pkg][name] {
					t.Errorf("%s.%s decodes nothing any more; take it off the list", pkg, name)
				}
				delete(found[pkg], name)
			}
		}
	}
	for pkg, names := range found {
		for name := range names {
			t.Errorf("%s.%s decodes bytes and is not listed; write a fuzz target, or why its bytes are no stranger's", pkg, name)
		}
	}
}

func decodes(fn *ast.FuncDecl) (yes bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			yes = yes || ok && slices.Contains(decoding, x.Name+"."+s.Sel.Name)
		}
		return !yes
	})
	return yes
}

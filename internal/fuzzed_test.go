package internal

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// readers names, for each exported function that takes bytes or a reader, the
// fuzz target that reaches it, as "package.Target" ("Target" if in the same
// package), or after "no: " why its bytes are no stranger's. doc/fuzzing.md says
// the same for people.
var readers = map[string]string{
	"internal/advise/battery.Read":                  "FuzzRead",
	"internal/advise/calibration.Read":              "FuzzRead",
	"internal/advise/cost.Read":                     "FuzzRead",
	"internal/advise/paper.ParseClaims":             "FuzzParseClaims",
	"internal/device.Connect":                       "internal/device/rpc.FuzzGreeting",
	"internal/device.KilledForMemory":               "FuzzKilledForMemory",
	"internal/device.Remote.Put":                    "no: the lab's own file, copied and not read",
	"internal/device.RunAgent":                      "internal/device/rpc.FuzzFrames",
	"internal/device/qemu.Deliver":                  "no: the guest's own results on their way out",
	"internal/device/sensor.Main":                   "no: the child of this program, asked by it",
	"internal/device/sensor.ReadReady":              "FuzzReadReady",
	"internal/device/rpc.Greet":                     "FuzzGreeting",
	"internal/drive.Collect":                        "FuzzCollect",
	"internal/drive.Fixed.Decode":                   "no: compares lengths",
	"internal/drive.Main":                           "no: the child of this program, asked by it",
	"internal/drive.CoAPRequest":                    "no: a message to be sent",
	"internal/drive.HTTPRequest":                    "no: a message to be sent",
	"internal/drive.ParseHTTP":                      "internal/drive/population.FuzzStreams",
	"internal/drive.ReceiveNow":                     "no: what it fills, others read",
	"internal/drive.SendNow":                        "no: a message to be sent",
	"internal/drive/tally.Histogram.UnmarshalJSON":  "no: the child of this program, asked by it",
	"internal/instrument/packet.Analyze":            "FuzzAnalyze",
	"internal/instrument/packet.AnalyzeWith":        "FuzzAnalyze",
	"internal/instrument/packet.NewReader":          "FuzzAnalyze",
	"internal/kernel.ReplaceSecret":                 "no: an own secret, written and not read",
	"internal/lab/fabricated.Create":                "no: a study of a bench's or a test's own",
	"internal/lab/fabricated.CreateOn":              "no: a study of a bench's or a test's own",
	"internal/lab/fabricated.Resume":                "no: a study of a bench's or a test's own",
	"internal/lab.Lab.Help":                         "internal/device/rpc.FuzzFrames",
	"internal/guest.Conduct":                        "no: the lab's own job, read inside its machine",
	"internal/protocol/coap.ClientExchange.Receive": "FuzzExchange",
	"internal/protocol/coap.Message.Decode":         "FuzzDecode",
	"internal/protocol/coap.Message.DecodeStream":   "FuzzStream",
	"internal/protocol/dpws.Answerer.Answer":        "FuzzDiscovery",
	"internal/protocol/dpws.Description.Answer":     "FuzzEventing",
	"internal/protocol/dpws.Open":                   "FuzzEventing",
	"internal/protocol/dpws.Post":                   "no: a message to be sent",
	"internal/protocol/dpws.Subscriptions.Answer":   "FuzzEventing",
	"internal/protocol/dpws.Subscriptions.Notify":   "no: a message to be sent",
	"internal/protocol/dtls.Session.Flight":         "no: a message to be sent",
	"internal/protocol/dtls.Session.Receive":        "FuzzReceive",
	"internal/protocol/dtls.Session.Seal":           "no: a message to be sent",
	"internal/protocol/mqtt.Packet.Decode":          "FuzzDecode",
	"internal/report.ReadConfirms":                  "FuzzReadConfirms",
	"internal/report/tidy.Read":                     "FuzzRead",
	"internal/service.Chase":                        "no: any bytes are as good as any others",
	"internal/service/codec.Decode":                 "FuzzJSON",
	"internal/service/codec.DecodeEnvelope":         "FuzzSOAP11",
	"internal/service/codec.DecodeWithin":           "FuzzXML",
	"internal/service/xmlstream.Parser.Reset":       "FuzzPull",
	"internal/stat.Interval.UnmarshalJSON":          "FuzzNumbers",
	"internal/stat.Number.UnmarshalJSON":            "FuzzNumbers",
	"internal/store.Attempt.Keep":                   "no: the lab's own file, kept and not read",
	"stacks/reference.Main":                         "no: the lab's own lines on its stdin",
	"stacks/reference.Tapped":                       "no: the lab's own lines on its stdin",
	"internal/study.Edit":                           "FuzzEdit",
	"internal/study.WriteIn":                        "FuzzWriteIn",
	"internal/study.Parse":                          "FuzzParse",
	"internal/testbed.Testbed.ReadAvailable":        "internal/study.FuzzParse",
	"internal/testbed.Testbed.ReadElsewhere":        "internal/study.FuzzParse",
	"internal/web.Server.Follow":                    "no: the lab's own lines, through a pipe of this program",
}

// others are targets of what takes bytes in other ways: methods without export,
// files by their path, text, streams of programs.
var others = []string{
	"cmd/edgegauge.FuzzProbeFile",
	"internal/advise.FuzzParseRequirement", "internal/device/qemu.FuzzReadArchive", "internal/device/qemu.FuzzSetCell",
	"internal/device/ssh.FuzzConfigLine", "internal/drive.FuzzHTTP2Frames", "internal/drive.FuzzHTTPResponse",
	"internal/instrument.FuzzExecLines", "internal/instrument.FuzzMeterFrames", "internal/instrument.FuzzPPK2",
	"internal/instrument/energy.FuzzTrial", "internal/printable.FuzzText", "internal/protocol/coap.FuzzOSCORE",
	"internal/protocol/coap.FuzzProtected", "internal/protocol/coap.FuzzServer", "internal/protocol/mqtt.FuzzSession",
	"internal/service/codec.FuzzRoundTrip", "internal/service/codec.FuzzScaled", "internal/service/xmlstream.FuzzWrite",
	"internal/stack.FuzzConn", "internal/stack.FuzzExchange", "internal/store.FuzzDecodeExchanges",
	"internal/store.FuzzOpenLedger", "internal/web.FuzzAddress",
	"internal/capacity.FuzzStored", "internal/device.FuzzProfile", "internal/device/qemu.FuzzMonitor",
	"internal/fleet.FuzzOrder",
	"internal/fleet/wire.FuzzSaid", "internal/instrument.FuzzPlug", "internal/instrument.FuzzPowerProfile",
	"internal/instrument.FuzzSensorFiles", "internal/link.FuzzProfile", "internal/protocol/dpws.FuzzDescribed",
	"internal/report.FuzzFacts", "internal/report.FuzzAnswerOfSearch", "internal/stack.FuzzDescription",
	"internal/stack/conform.FuzzLetter",
	"internal/store.FuzzTexts", "internal/web.FuzzForm", "stacks/reference.FuzzRequest",
}

// encoders begin the names of functions whose bytes are their own output.
var encoders = []string{"Append", "Add", "Encode"}

// eachFunction visits the functions of all packages that may read a stranger's bytes. Benches read our own.
func eachFunction(t *testing.T, visit func(pkg string, test bool, fn *ast.FuncDecl)) {
	t.Helper()
	eachFile(t, func(file string, f *ast.File) {
		pkg := strings.TrimPrefix(path.Dir(file), "../")
		if strings.HasPrefix(pkg, "internal/bench") || strings.HasPrefix(pkg, "stacks/") && pkg != "stacks/reference" {
			return
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				visit(pkg, strings.HasSuffix(file, "_test.go"), fn)
			}
		}
	})
}

// Every exported reader of bytes has a fuzz target that exists, and the manual
// lists every target.
func TestEveryReaderOfBytesIsFuzzed(t *testing.T) {
	found, targets := map[string]bool{}, map[string]bool{}
	eachFunction(t, func(pkg string, test bool, fn *ast.FuncDecl) {
		switch {
		case test && strings.HasPrefix(fn.Name.Name, "Fuzz") && fn.Recv == nil:
			targets[pkg+"."+fn.Name.Name] = true
		case !test && readsBytes(fn):
			found[pkg+"."+receiver(fn)+fn.Name.Name] = true
		}
	})
	if len(found) < 20 || len(targets) < 20 {
		t.Fatalf("%d readers, %d targets", len(found), len(targets))
	}
	manual, err := os.ReadFile("../doc/fuzzing.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, target := range others {
		named[target] = true
	}
	for _, reader := range slices.Sorted(maps.Keys(readers)) {
		target := readers[reader]
		if !found[reader] {
			t.Errorf("%s: there is no such reader any more; take it off the list", reader)
		}
		if strings.HasPrefix(target, "no: ") {
			continue
		}
		if !strings.Contains(target, ".") {
			pkg, _, _ := strings.Cut(path.Base(reader), ".")
			target = path.Join(path.Dir(reader), pkg) + "." + target
		}
		named[target] = true
		if !targets[target] {
			t.Errorf("%s: its fuzz target %s does not exist", reader, target)
		}
	}
	for _, reader := range slices.Sorted(maps.Keys(found)) {
		if readers[reader] == "" {
			t.Errorf("%s reads bytes and has no fuzz target; write one, and list it here", reader)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(targets)) {
		name := target[strings.LastIndex(target, ".")+1:]
		pkg := strings.TrimPrefix(strings.TrimSuffix(target, "."+name), "internal/")
		if !strings.Contains(string(manual), "| `"+pkg+"`") || !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("doc/fuzzing.md does not list %s", target)
		}
	}
	for target := range named {
		if !targets[target] {
			t.Errorf("%s is listed and does not exist", target)
		}
	}
}

// readsBytes says whether an exported function takes bytes to read.
func readsBytes(fn *ast.FuncDecl) bool {
	name := fn.Name.Name
	if !fn.Name.IsExported() || fn.Recv != nil && !ast.IsExported(strings.TrimSuffix(receiver(fn), ".")) ||
		slices.ContainsFunc(encoders, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return false
	}
	if (name == "Read" || name == "Write") && fn.Recv != nil {
		return false // of io.Reader and io.Writer: room to fill, or bytes to pass on
	}
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool { return isBytes(p.Type) })
}

func isBytes(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ArrayType:
		id, ok := t.Elt.(*ast.Ident)
		return ok && t.Len == nil && id.Name == "byte"
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return ok && x.Name == "io" && strings.HasPrefix(t.Sel.Name, "Read")
	}
	return false
}

// receiver is "Type." of a method, "" of a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	switch i := t.(type) { // of a generic type
	case *ast.IndexExpr:
		t = i.X
	case *ast.IndexListExpr:
		t = i.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}

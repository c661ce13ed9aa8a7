using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Web.Script.Serialization;

/// <summary>The adapter protocol (stacks/PROTOCOL.md), the client's half.</summary>
static class Program {
  static readonly JavaScriptSerializer Json = new JavaScriptSerializer { MaxJsonLength = 1 << 24 };
  static readonly TextWriter Out = new StreamWriter(Console.OpenStandardOutput()) { NewLine = "\n" };

  static int Main(string[] args) {
    Console.SetOut(Console.Error); // nothing but protocol goes to stdout
    try {
      if (args.Length != 1 || args[0] != "call") throw new ArgumentException("called with something else than call: this stack has no server");
      Call();
      Leave(0); // each line was flushed as it was said
      return 0;
    } catch (Exception e) {
      Say(new Dictionary<string, object> { { "type", "error" }, { "message", e.Message } });
      return 1;
    }
  }

  /// <summary>Ends the process without Mono's shutdown, which once in some hundred runs did not end within the 5 s that the protocol gives.</summary>
  [DllImport("libc", EntryPoint = "_exit")] static extern void Leave(int status);

  static void Say(Dictionary<string, object> line) {
    Out.WriteLine(Json.Serialize(line));
    Out.Flush();
  }

  /// <summary>The next line, or null at the end.</summary>
  static Setup Read(params string[] want) {
    string line = Console.In.ReadLine();
    if (line == null) return null;
    var s = new Setup(Json.Deserialize<Dictionary<string, object>>(line));
    if (Array.IndexOf(want, s.Text("type")) < 0) throw new ArgumentException("no \"" + want[0] + "\" expected here, but \"" + s.Text("type") + "\"");
    return s;
  }

  static void Call() {
    ServicePointManager.Expect100Continue = false;
    ServicePointManager.UseNagleAlgorithm = false; // TCP_NODELAY, as all stacks set it
    ServicePointManager.DefaultConnectionLimit = 10000;
    ServicePointManager.ServerCertificateValidationCallback = (sender, certificate, chain, errors) => true; // README: it knows no other authority than its own store's
    for (Setup s = Read("call"); s != null; s = Call(s)) { }
  }

  /// <summary>Calls until another call, and returns that, or null at the end.</summary>
  static Setup Call(Setup s) {
    s.Check();
    bool first = true; // the first request is still to come
    var callers = new List<Caller> { new Caller(s) };
    Say(new Dictionary<string, object> { { "type", "ready" }, { "again", true }, { "version", Environment.Version.ToString() }, { "runtime", "Mono " + Mono() } });
    for (Setup r; (r = Read("run", "call")) != null; ) {
      if (r.Text("type") == "call") return r;
      int many = (int)r.Long("concurrency", 1);
      while (callers.Count < many) callers.Add(new Caller(s));
      long spent = Clock.Cpu;
      var run = new Run(r);
      run.Go(callers.GetRange(0, many));
      spent = Clock.Cpu - spent;
      Print(run, spent, first);
      first = first && run.Taken == 0;
    }
    return null;
  }

  static string Mono() {
    var m = Type.GetType("Mono.Runtime").GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
    return (string)m.Invoke(null, null);
  }

  static void Print(Run run, long cpu, bool first) {
    foreach (Exchange x in run.Records ?? new List<Exchange>()) {
      Out.Write("{\"type\":\"exchange\",\"seq\":" + x.Seq + ",\"due\":" + x.Due + ",\"sent\":" + x.Sent + ",\"done\":" + x.Done + ",\"connection\":" + x.Connection + ",\"serialization\":" + x.Serialization
          + ",\"deserialization\":" + x.Deserialization + ",\"total\":" + x.Total + ",\"in\":" + x.In + ",\"out\":" + x.Out);
      Out.WriteLine(x.Failure == null ? "}" : ",\"failure\":" + Json.Serialize(x.Failure) + "}");
    }
    var end = new Dictionary<string, object> { { "type", "end" }, { "count", run.Taken }, { "cpu", cpu } };
    if (first && run.Taken > 0) end["phases"] = new Dictionary<string, object> { { "first_invoke", run.FirstInvoke } };
    if (run.Records == null && run.Failed > 0) {
      end["failed"] = run.Failed;
      end["first_failure"] = run.FirstFailure;
    }
    Say(end);
  }
}

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

/// <summary>A line of the protocol, and what a call line asks for.</summary>
class Setup {
  readonly Dictionary<string, object> line;

  public Setup(Dictionary<string, object> line) { this.line = line; }

  public string Text(string path, string otherwise = "") {
    object v = line;
    foreach (string key in path.Split('.')) {
      var m = v as Dictionary<string, object>;
      if (m == null || !m.TryGetValue(key, out v) || v == null) return otherwise;
    }
    string t = Convert.ToString(v, CultureInfo.InvariantCulture);
    return t == "" ? otherwise : t;
  }

  public long Long(string path, long otherwise = 0) {
    long v = decimal.ToInt64(decimal.Parse(Text(path, "0"), NumberStyles.Float, CultureInfo.InvariantCulture));
    return v == 0 ? otherwise : v;
  }

  public ulong Bits(string path) { return ulong.Parse(Text(path, "0"), CultureInfo.InvariantCulture); }
  public double Real(string path) { return double.Parse(Text(path, "0"), CultureInfo.InvariantCulture); }
  public bool Flag(string path) { return Text(path) == "True"; }

  public string Service { get { return Text("service"); } }
  public string Url { get { return Text("url"); } }
  public string Security { get { return Text("security", "none"); } }
  public string Connection { get { return Text("connection", "keep-alive"); } }
  public string User { get { return Text("credentials.user"); } }
  public string Password { get { return Text("credentials.password"); } }
  public int TimeoutMilliseconds { get { return (int)Math.Max(1, Math.Min(int.MaxValue, Long("timeout", 30000000000) / 1000000)); } }

  public Message Request() {
    return new Message(Service, Bits("message.seed"), (int)Long("message.n"), (int)Long("message.letters"), Bits("message.max"));
  }

  /// <summary>Refuses what this client does not do, naming what it does.</summary>
  public void Check() {
    Has("encoding", Text("encoding", "soap11"), "soap11");
    Has("security", Security, "none", "tls12", "wss-username");
    Has("transport", Text("transport", "http"), "http");
    Has("connection", Connection, "keep-alive", "per-request");
    if (Long("protocol", 1) > 1) throw new ArgumentException("the protocol is newer than mine (1); update the stack");
  }

  static void Has(string what, string name, params string[] all) {
    if (!all.Contains(name)) throw new ArgumentException("no " + what + " \"" + name + "\"; it has " + string.Join(", ", all));
  }
}

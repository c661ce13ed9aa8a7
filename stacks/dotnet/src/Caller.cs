using System;
using System.Linq;
using System.Net;

/// <summary>The other half of the proxy that wsdl makes: the header, and what the connection is to be.</summary>
public partial class Services {
  public Security security; // null: none is sent
  public bool Keep;

  protected override WebRequest GetWebRequest(Uri uri) {
    var r = (HttpWebRequest)base.GetWebRequest(uri);
    r.KeepAlive = Keep;
    return new ConnectedRequest(r);
  }
}

/// <summary>One client of a service.</summary>
class Caller {
  readonly Setup setup;
  readonly Services proxy;
  readonly Message q;
  readonly int[] sorted;
  readonly string text;
  readonly decimal total;
  readonly byte[] digest;

  public Caller(Setup s) {
    setup = s;
    q = s.Request();
    sorted = q.N == null ? null : q.N.OrderBy(n => n).ToArray();
    text = q.S == null ? q.Text : string.Concat(q.S);
    total = q.X == null ? 0 : q.X.Sum();
    digest = q.Data == null ? null : q.Digest(s.Service);
    proxy = new Services { Url = s.Url, Timeout = s.TimeoutMilliseconds, Proxy = null, Keep = s.Connection == "keep-alive" };
  }

  /// <summary>Makes one request; fills x, but for Seq and Due.</summary>
  public void Call(Exchange x) {
    Exchange.Mine = x;
    x.Begun = Clock.Now;
    try {
      if (setup.Security == "wss-username") {
        proxy.security = Security.Make(setup.User, setup.Password);
        x.Serialization = Clock.Now - x.Begun;
      }
      x.Failure = Ask();
    } catch (Exception e) {
      x.Failure = e.GetType().Name + ": " + e.Message;
    }
    if (x.Total == 0) x.Total = Clock.Now - x.Begun;
  }

  /// <summary>The answer was deserialized: the total ends, before the check.</summary>
  static void Answered() {
    Exchange x = Exchange.Mine;
    x.Total = Clock.Now - x.Begun;
  }

  /// <summary>Returns null if the answer is right, else in what it is wrong.</summary>
  string Ask() {
    switch (setup.Service) {
      case "sort":
        var n = q.N;
        proxy.sort(ref n);
        Answered();
        return (n ?? new int[0]).SequenceEqual(sorted) ? null : "answer has other numbers, or they are not sorted";
      case "concat":
        string joined = proxy.concat(q.S);
        Answered();
        return joined == text ? null : "answer has another text";
      case "sum":
        decimal sum = proxy.sum(q.X);
        Answered();
        return sum == total ? null : "answer has another total";
      case "echo":
        var t = q.Text;
        proxy.echo(ref t);
        Answered();
        return t == text ? null : "answer has another text";
      case "temperature":
        long time;
        decimal celsius = proxy.temperature(out time);
        Answered();
        return time <= 0 ? "answer has no time" : Math.Abs(celsius) > 1000 ? "answer is a temperature that no sensor reads" : null;
      case "monitor":
        int sequence = q.Sequence;
        bool accepted = proxy.monitor(q.Id, q.Status, ref sequence, q.Temperature, q.Pressure, q.Running, q.Note);
        Answered();
        return !accepted ? "answer is not accepted" : sequence != q.Sequence ? "answer has another sequence" : null;
      default:
        byte[] got = setup.Service == "io" ? proxy.io(q.Data) : proxy.memory(q.Data);
        Answered();
        return got != null && got.SequenceEqual(digest) ? null : "answer has another digest";
    }
  }
}

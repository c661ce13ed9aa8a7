using System;
using System.Collections.Generic;
using System.Threading;

/// <summary>Hands out requests and the instants they are due, and keeps their records.</summary>
class Run {
  readonly long requests, duration, interval, start;
  readonly double rate;
  readonly bool poisson;
  ulong seed;
  double due;
  public long Taken { get; private set; }
  public readonly List<Exchange> Records; // null: none are kept
  public long FirstInvoke;                // ns, the total of the first request of this run
  public long Failed;                     // requests, and why the first of them did
  public string FirstFailure;
  readonly object one = new object();

  public Run(Setup s) {
    requests = s.Long("requests", long.MaxValue);
    duration = s.Long("duration", long.MaxValue);
    interval = s.Long("interval");
    rate = s.Real("rate");
    string arrival = s.Text("arrival", "constant");
    poisson = rate > 0 && arrival == "poisson";
    seed = s.Bits("seed");
    if (requests == long.MaxValue && duration == long.MaxValue) throw new ArgumentException("run has no end; give requests or duration");
    if (rate < 0 || interval < 0 || rate > 0 && interval > 0) throw new ArgumentException("run has both rate and interval, or a negative one; give one");
    if (!poisson && arrival != "constant") throw new ArgumentException("no arrival \"" + arrival + "\"; it has constant, poisson");
    if (s.Flag("record")) Records = new List<Exchange>((int)Math.Min(requests, 1 << 20));
    start = Clock.Now;
  }

  double Unit() {
    unchecked {
      ulong z = seed += 0x9E3779B97F4A7C15UL;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9UL;
      z = (z ^ z >> 27) * 0x94D049BB133111EBUL;
      return ((z ^ z >> 31) >> 11) * (1.0 / (1UL << 53));
    }
  }

  /// <summary>The next request, or null at the end.</summary>
  Exchange Next() {
    lock (one) {
      long since = Clock.Now - start;
      var x = new Exchange { Seq = Taken + 1 };
      if (rate == 0) x.Due = interval > 0 ? Taken * interval : since;
      else if (!poisson) x.Due = (long)Math.Round(Taken * 1e9 / rate);
      else x.Due = (long)Math.Round(due += -Math.Log(1 - Unit()) * 1e9 / rate);
      if (Taken >= requests || x.Due >= duration || interval > 0 && since >= duration) return null;
      Taken++;
      if (Records != null) Records.Add(x);
      return x;
    }
  }

  void Work(Caller c) {
    for (Exchange x; (x = Next()) != null; ) {
      Clock.SleepUntil(start + x.Due);
      c.Call(x);
      if (x.Sent > 0) x.Sent -= start;
      if (x.Done > 0) x.Done -= start;
      if (x.Seq == 1) FirstInvoke = x.Total;
      if (x.Failure == null) continue;
      lock (one) if (Failed++ == 0) FirstFailure = x.Failure;
    }
  }

  /// <summary>Drives all callers, each on a thread of its own.</summary>
  public void Go(IList<Caller> callers) {
    var threads = new List<Thread>();
    for (int i = 1; i < callers.Count; i++) {
      Caller c = callers[i];
      var t = new Thread(() => Work(c));
      t.Start();
      threads.Add(t);
    }
    Work(callers[0]);
    foreach (var t in threads) t.Join();
  }
}

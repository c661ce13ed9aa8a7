package edgegauge.adapter;

import java.util.Map;

/** Hands out requests and the instants they are due, since the run's start, in ns. Knows no clock. */
final class Schedule {
  private final long requests, duration, interval;
  private final double rate;
  private final SplitMix64 poisson; // null: constant
  private long taken;
  private double due;

  Schedule(Map<String, Object> run) {
    requests = Setup.number(run, "requests", Long.MAX_VALUE);
    duration = Setup.number(run, "duration", Long.MAX_VALUE);
    interval = Setup.number(run, "interval", 0);
    Object r = run.get("rate");
    rate = r instanceof Number ? ((Number) r).doubleValue() : 0;
    String arrival = Setup.text(run, "arrival");
    Object seed = run.get("seed");
    poisson = arrival.equals("poisson") ? new SplitMix64(seed instanceof Long ? (Long) seed : 0) : null;
    if (requests == Long.MAX_VALUE && duration == Long.MAX_VALUE) throw new IllegalArgumentException("run has no end; give requests or duration");
    if (rate < 0 || interval < 0) throw new IllegalArgumentException("rate and interval are not negative");
    if (rate > 0 && interval > 0) throw new IllegalArgumentException("run has both rate and interval; give one");
    if (!arrival.isEmpty() && !arrival.equals("constant") && poisson == null)
      throw new IllegalArgumentException("no arrival \"" + arrival + "\"; it has constant, poisson");
  }

  long requests() {
    return requests == Long.MAX_VALUE ? 0 : requests;
  }

  /** Gives x its seq and due instant; false at the end. now is the time since the start, which is due where nothing else says when. */
  synchronized boolean next(Exchange x, long now) {
    if (taken >= requests) return false;
    if (rate == 0 && interval == 0) x.due = now;
    else if (rate == 0) x.due = taken * interval;
    else if (poisson == null) x.due = Math.round(taken * 1e9 / rate);
    else x.due = Math.round(due += -Math.log1p(-poisson.unit()) * 1e9 / rate);
    if (x.due >= duration || interval > 0 && now >= duration) return false;
    x.seq = ++taken;
    return true;
  }
}

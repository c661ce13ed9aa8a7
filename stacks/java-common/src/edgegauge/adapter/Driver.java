package edgegauge.adapter;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Sends requests when they are due. One thread and one caller, hence one connection, for each unit of concurrency; all are kept between runs. */
final class Driver {
  private final Stack stack;
  private final Setup setup;
  private final Message request, expected;
  private final List<Caller> callers = new ArrayList<>();
  private final List<ExecutorService> threads = new ArrayList<>(); // of all callers but the first, whose thread is the program's
  private Map<String, Long> phases;
  private volatile boolean invoked;
  private long failed; // requests of the last run
  private String firstFailure;

  Driver(Stack stack, Setup setup) throws Exception {
    this.stack = stack;
    this.setup = setup;
    request = setup.request();
    expected = Services.expected(setup.service, request);
    callers.add(stack.call(setup));
    phases = new TreeMap<>(callers.get(0).phases());
  }

  /** Phases that are over and were not asked for before. */
  synchronized Map<String, Long> phases() {
    Map<String, Long> over = phases;
    phases = new TreeMap<>();
    return over;
  }

  /** Runs, and returns the records, or null if none are wanted; count is set to the requests made. */
  Log run(Map<String, Object> run, AtomicLong count) throws Exception {
    int concurrency = (int) Setup.number(run, "concurrency", 1);
    if (concurrency < 1) throw new IllegalArgumentException("concurrency is at least 1");
    while (callers.size() < concurrency) {
      callers.add(stack.call(setup));
      threads.add(Executors.newSingleThreadExecutor());
    }
    Schedule schedule = new Schedule(run);
    Log log = Boolean.TRUE.equals(run.get("record")) ? new Log(Log.CLIENT, schedule.requests()) : null;
    failed = 0;
    firstFailure = "";
    List<Future<?>> others = new ArrayList<>();
    long start = System.nanoTime();
    for (int i = 1; i < concurrency; i++) {
      Caller c = callers.get(i);
      others.add(threads.get(i - 1).submit(() -> work(c, schedule, start, log, count)));
    }
    work(callers.get(0), schedule, start, log, count);
    for (Future<?> f : others) f.get(); // no run without a thread that ended, as for want of memory
    return log;
  }

  private void work(Caller caller, Schedule schedule, long start, Log log, AtomicLong count) {
    Exchange x = Exchange.mine();
    while (schedule.next(x, System.nanoTime() - start)) {
      for (long left; (left = start + x.due - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
      once(caller, x);
      if (!invoked) first(x);
      if (!x.failure.isEmpty()) fail(x.failure);
      if (log != null) log.client(x, start);
      count.incrementAndGet();
    }
  }

  /** Notes the very first request, whose classes were loaded and whose connection was made for it. */
  private synchronized void first(Exchange x) {
    if (!invoked && x.failure.isEmpty()) phases.put("first_invoke", x.total);
    invoked = true;
  }

  private synchronized void fail(String why) {
    if (failed++ == 0) firstFailure = why;
  }

  /** How many requests of the last run failed, and why the first of them did: fields of an end, if any. */
  String failures() {
    return failed == 0 ? "" : Json.quote(new StringBuilder(",\"failed\":" + failed + ",\"first_failure\":"), firstFailure).toString();
  }

  private void once(Caller caller, Exchange x) {
    x.begin();
    try {
      Message answer = caller.call(request, x);
      x.decoded();
      x.failure = Services.check(setup.service, expected, answer);
    } catch (Exception e) {
      x.failure = Program.reason(e);
    } catch (StackOverflowError | NoClassDefFoundError e) {
      x.failure = Program.reason(e);
    }
    x.decoded(); // a failed one ends here
    try {
      caller.finished();
    } catch (Exception e) {
      if (x.failure.isEmpty()) x.failure = Program.reason(e);
    }
    if (!setup.hooks) x.unhooked();
  }
}

package edgegauge.adapter;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Prints what the clock and the record cost a request, in ns of the thread's processor time, one line a round: the dearer of server's and client's. It reads the clock ten times and asks
 * eight times for the thread's exchange, as the adapter with the most hooks does (jaxws-rt); what a hook does to the framework's own streams is not in it.
 */
final class ClockCost {
  private static final int REQUESTS = 200_000, ROUNDS = 7;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] args) {
    for (int i = 0; i < 2; i++) round(); // compiled, then measured
    for (int i = 0; i < ROUNDS; i++) System.out.println(round());
  }

  private static long round() {
    return Math.max(server(), client());
  }

  private static long server() {
    ServerLog log = new ServerLog();
    long start = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < REQUESTS; i++) {
      Exchange.mine().begin().in = i;
      phases();
      log.sending();
      log.sent(Exchange.mine());
    }
    return (THREADS.getCurrentThreadCpuTime() - start) / REQUESTS;
  }

  private static long client() {
    Log log = new Log(Log.CLIENT, REQUESTS);
    long start = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < REQUESTS; i++) {
      Exchange x = Exchange.mine().begin();
      x.seq = i;
      phases();
      x.total = System.nanoTime() - x.begun;
      log.client(x, start);
    }
    return (THREADS.getCurrentThreadCpuTime() - start) / REQUESTS;
  }

  /** Eight readings in six hooks. */
  private static void phases() {
    long t0 = System.nanoTime();
    Exchange.mine().deserialization += System.nanoTime() - t0;
    Exchange.mine().sent = System.nanoTime();
    long t1 = System.nanoTime();
    Exchange.mine().processing = t1 - Exchange.mine().sent;
    Exchange.mine().done = System.nanoTime();
    Exchange.mine().serialization = System.nanoTime() - Exchange.mine().done;
    long t2 = System.nanoTime();
    Exchange x = Exchange.mine();
    x.serialization += System.nanoTime() - t2;
    x.out = t2 - t1;
  }
}

import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;

/** Prints what the clock and the record cost a server's request, in ns: java -cp ../californium/build/app.jar test/ClockCost.java */
class ClockCost {
  public static void main(String[] args) {
    ServerLog log = new ServerLog();
    int n = 200_000;
    for (int round = 0; round < 6; round++) {
      long start = System.nanoTime();
      for (int i = 0; i < n; i++) {
        Exchange x = Exchange.mine().begin();
        long t0 = System.nanoTime();
        long t1 = System.nanoTime();
        long t2 = System.nanoTime();
        x.deserialization = t1 - t0;
        x.processing = t2 - t1;
        x.serialization = System.nanoTime() - t2;
        log.sending();
        log.sent(x);
      }
      System.out.println((System.nanoTime() - start) / n + " ns a request");
    }
  }
}

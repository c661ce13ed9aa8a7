package edgegauge.adapter;

import java.net.URL;

/** Connects to the URL that its argument is, and says whether connecting took no longer than it took. Used by program_test.go. */
final class ConnectProbe {
  public static void main(String[] args) throws Exception {
    TimedConnection.everywhere();
    Exchange x = Exchange.mine().begin();
    TimedConnection c = new TimedConnection(new URL(args[0]));
    long t0 = System.nanoTime();
    c.connect();
    System.out.print(x.connection <= System.nanoTime() - t0 ? "once" : "more than once");
  }
}

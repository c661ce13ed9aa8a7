package edgegauge.adapter;

/** Makes the request of a seed, in the drawing order of contract/README.md. */
final class Messages {
  private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  private Messages() {}

  /** letters and max are the width parameters, 0 for the contract's own. */
  static Message make(Service service, long seed, int n, int letters, long max) {
    SplitMix64 r = new SplitMix64(seed);
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = new int[n];
        for (int i = 0; i < n; i++) m.n[i] = (int) (r.next() >>> 33);
        break;
      case CONCAT:
        m.s = new String[n];
        for (int i = 0; i < n; i++) m.s[i] = lower(r, letters > 0 ? letters : 8 + (int) r.below(9));
        break;
      case SUM:
        m.x = new long[n];
        for (int i = 0; i < n; i++) m.x[i] = r.below(max > 0 ? max : 100000);
        break;
      case ECHO:
        m.text = mixed(r, n);
        break;
      case MONITOR:
        monitor(m, r, n);
        break;
      case IO:
      case MEMORY:
        m.data = bytes(r, n);
        break;
      default: // temperature asks nothing
    }
    return m;
  }

  private static void monitor(Message m, SplitMix64 r, int n) {
    m.id = lower(r, 8);
    m.status = (int) r.below(4);
    m.sequence = (int) (r.next() >>> 33);
    m.temperature = r.below(10000) - 2000;
    m.pressure = 90000 + r.below(20000);
    m.running = r.below(2) == 1;
    m.message = mixed(r, n);
  }

  private static String lower(SplitMix64 r, int n) {
    char[] c = new char[n];
    for (int i = 0; i < n; i++) c[i] = (char) ('a' + r.below(26));
    return new String(c);
  }

  private static String mixed(SplitMix64 r, int n) {
    char[] c = new char[n];
    for (int i = 0; i < n; i++) c[i] = LETTERS.charAt((int) r.below(52));
    return new String(c);
  }

  private static byte[] bytes(SplitMix64 r, int n) {
    byte[] b = new byte[n];
    for (int i = 0; i < n; i += 8) {
      long z = r.next();
      for (int j = i; j < Math.min(i + 8, n); j++, z >>>= 8) b[j] = (byte) z;
    }
    return b;
  }
}

package edgegauge.microemu;

import lab.Programs;

/** Runs programs of known length on the throttled processor and prints what was predicted and what it took. */
public final class Known {
  private Known() {}

  /** Prints a line for each program: its name, bytecodes, predicted and measured ms. */
  public static void main(long rate) {
    Tick.rate(rate);
    for (int program = 0; program < Programs.COUNT; program++) {
      run(program); // loads its classes
      long before = Tick.count();
      long begun = System.nanoTime();
      run(program);
      double took = (System.nanoTime() - begun) / 1e6;
      long n = Tick.count() - before;
      System.out.printf(java.util.Locale.ROOT, "%s %d %.3f %.3f%n", Programs.name(program), n, n / (double) rate, took);
    }
  }

  private static void run(int program) {
    Tick.begin();
    Programs.run(program);
    Tick.settle();
  }
}

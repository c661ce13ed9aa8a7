package edgegauge.microemu;

import java.util.concurrent.locks.LockSupport;

/**
 * The phone's processor: it executes so many bytecodes a millisecond and no more. Rewritten code says what it is about to execute, and waits here until
 * the processor would have got so far. One thread is the phone's; an instant is kept and never a pause, so errors do not add up.
 */
public final class Tick {
  private static final long SPIN = 80_000; // ns: closer to an instant than this, parking is too coarse

  private static long rate; // bytecodes per ms; 0: only count
  private static long step; // bytecodes between looks at the clock
  private static long n, next = Long.MAX_VALUE, from, began;

  private Tick() {}

  /** Sets the processor's speed in bytecodes per ms; 0 is as fast as the machine. */
  public static void rate(long bytecodesPerMilli) {
    rate = bytecodesPerMilli;
    step = Math.max(1, rate / 2);
    next = Long.MAX_VALUE;
  }

  /** Called by rewritten code before each basic block of k bytecodes. */
  public static void t(int k) {
    if ((n += k) >= next) pace();
  }

  /** Bytecodes executed so far. */
  public static long count() {
    return n;
  }

  /** The processor begins to work now; what it waited before is no credit. */
  static void begin() {
    from = n;
    began = System.nanoTime();
    next = rate > 0 ? n + step : Long.MAX_VALUE;
  }

  /** Returns when the work since begin would be done. */
  static void settle() {
    next = Long.MAX_VALUE;
    if (rate > 0) await(due());
  }

  private static void pace() {
    next = n + step;
    await(due());
  }

  /** The instant at which what was executed since begin is done, rounded to the nearest ns. */
  private static long due() {
    return began + Math.round((n - from) * 1e6 / rate);
  }

  private static void await(long due) {
    for (long left; (left = due - System.nanoTime()) > 0; ) {
      if (left > SPIN) LockSupport.parkNanos(left - SPIN);
    }
  }
}

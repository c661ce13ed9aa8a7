package edgegauge.adapter;

/** Steele, Lea and Flood 2014: the generator of contract/README.md. */
public final class SplitMix64 {
  private long state;

  public SplitMix64(long seed) {
    state = seed;
  }

  public long next() {
    long z = state += 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** next() mod m, unsigned. */
  public long below(long m) {
    return Long.remainderUnsigned(next(), m);
  }

  /** Uniform in [0, 1), 53 bits. */
  public double unit() {
    return (next() >>> 11) * 0x1p-53;
  }
}

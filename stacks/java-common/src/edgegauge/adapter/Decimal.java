package edgegauge.adapter;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** Decimals are k/100; here k is a long. Text has two places, binary encodings carry the double nearest to k/100. */
public final class Decimal {
  private static final long MOST = 1_000_000_000_000_000L; // the contract's bound of |k|

  private Decimal() {}

  /** Returns k as text, "-0.05" for -5. */
  public static String text(long k) {
    long a = Math.abs(k);
    return (k < 0 ? "-" : "") + a / 100 + (a % 100 < 10 ? ".0" : ".") + a % 100;
  }

  public static BigDecimal big(long k) {
    return BigDecimal.valueOf(k, 2);
  }

  /** Rounds to the nearest hundredth. */
  public static long hundredths(BigDecimal d) {
    // A huge exponent would make setScale build a number of that many digits.
    if (d.precision() - (long) d.scale() > 16) throw new IllegalArgumentException("decimal out of range");
    if (d.scale() > 100) d = d.round(new java.math.MathContext(40));
    return d.scale() > 400 ? 0 : bounded(d.setScale(2, RoundingMode.HALF_UP).unscaledValue().longValueExact());
  }

  /** Rounds to the nearest hundredth, halves away from zero; refuses what is no number of this size. */
  public static long hundredths(double d) {
    if (!(Math.abs(d) < 1e15)) throw new IllegalArgumentException("decimal out of range");
    long k = Math.round(Math.abs(d) * 100); // Math.round takes halves up, towards zero if negative
    return bounded(d < 0 ? -k : k);
  }

  private static long bounded(long k) {
    if (k > MOST || k < -MOST) throw new IllegalArgumentException("decimal out of range");
    return k;
  }

  public static double real(long k) {
    return k / 100.0;
  }
}

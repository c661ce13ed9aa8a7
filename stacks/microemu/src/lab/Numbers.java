package lab;

/** Decimals of two places as text and back, in bytecodes that can be counted. CLDC 1.1 has double. */
public final class Numbers {
  private Numbers() {}

  /** Writes x with two places, rounded to the nearest hundredth. */
  public static String text(double x) {
    boolean negative = x < 0;
    long k = (long) ((negative ? -x : x) * 100 + 0.5);
    char[] c = new char[24];
    int at = c.length;
    for (int digits = 0; digits < 3 || k > 0; digits++) {
      if (digits == 2) c[--at] = '.';
      c[--at] = (char) ('0' + k % 10);
      k /= 10;
    }
    if (negative) c[--at] = '-';
    return new String(c, at, c.length - at);
  }

  /** Writes each. */
  public static String[] all(double[] x) {
    String[] s = new String[x.length];
    for (int i = 0; i < x.length; i++) s[i] = text(x[i]);
    return s;
  }

  /** Reads what text writes, with any number of places and an exponent left out. */
  public static double of(String s) {
    int n = s.length();
    int i = 0;
    boolean negative = n > 0 && s.charAt(0) == '-';
    if (negative || n > 0 && s.charAt(0) == '+') i++;
    double x = 0, unit = 1;
    boolean point = false, any = false;
    for (; i < n; i++) {
      char c = s.charAt(i);
      if (c == '.' && !point) {
        point = true;
        continue;
      }
      if (c < '0' || c > '9') throw new NumberFormatException("\"" + s + "\" is no decimal");
      any = true;
      x = x * 10 + (c - '0');
      if (point) unit *= 10;
    }
    if (!any) throw new NumberFormatException("\"" + s + "\" is no decimal");
    x /= unit;
    return negative ? -x : x;
  }
}

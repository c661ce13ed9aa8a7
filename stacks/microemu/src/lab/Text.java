package lab;

/** A growing string in the manner of CLDC's StringBuffer, in bytecodes that can be counted: the desktop's own would cost a phone nothing. */
public final class Text {
  private char[] value = new char[16];
  private int count;

  public Text add(char c) {
    if (count == value.length) grow(count + 1);
    value[count++] = c;
    return this;
  }

  public Text add(String s) {
    int n = s.length();
    if (count + n > value.length) grow(count + n);
    for (int i = 0; i < n; i++) value[count++] = s.charAt(i);
    return this;
  }

  private void grow(int least) {
    int n = (value.length + 1) * 2;
    char[] bigger = new char[n < least ? least : n];
    for (int i = 0; i < count; i++) bigger[i] = value[i];
    value = bigger;
  }

  public int length() {
    return count;
  }

  public char at(int i) {
    return value[i];
  }

  public String toString() {
    return new String(value, 0, count);
  }

  /** The text in UTF-8. */
  public byte[] bytes() {
    int n = 0;
    for (int i = 0; i < count; i++) n += value[i] < 0x80 ? 1 : value[i] < 0x800 ? 2 : 3;
    byte[] b = new byte[n];
    n = 0;
    for (int i = 0; i < count; i++) {
      int c = value[i];
      if (c < 0x80) {
        b[n++] = (byte) c;
      } else if (c >= 0xD800 && c < 0xDC00 && i + 1 < count) {
        c = 0x10000 + ((c - 0xD800) << 10) + (value[++i] - 0xDC00);
        b[n++] = (byte) (0xF0 | c >> 18);
        b[n++] = (byte) (0x80 | c >> 12 & 0x3F);
        b[n++] = (byte) (0x80 | c >> 6 & 0x3F);
        b[n++] = (byte) (0x80 | c & 0x3F);
      } else if (c < 0x800) {
        b[n++] = (byte) (0xC0 | c >> 6);
        b[n++] = (byte) (0x80 | c & 0x3F);
      } else {
        b[n++] = (byte) (0xE0 | c >> 12);
        b[n++] = (byte) (0x80 | c >> 6 & 0x3F);
        b[n++] = (byte) (0x80 | c & 0x3F);
      }
    }
    if (n == b.length) return b;
    byte[] exact = new byte[n]; // a pair of surrogates is 4 bytes, not 6
    for (int i = 0; i < n; i++) exact[i] = b[i];
    return exact;
  }

  public static byte[] ascii(String s) {
    return new Text().add(s).bytes();
  }

  /** Reads UTF-8 as it stands, without judging it: what comes is checked above. */
  public static String of(byte[] b, int from, int to) {
    Text t = new Text();
    for (int i = from; i < to; ) {
      int c = b[i++] & 0xFF;
      int more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
      if (more > 0) c &= 0x3F >> more;
      while (more-- > 0 && i < to) c = c << 6 | b[i++] & 0x3F;
      if (c < 0x10000) t.add((char) c);
      else t.add((char) (0xD800 + (c - 0x10000 >> 10))).add((char) (0xDC00 + (c & 0x3FF)));
    }
    return t.toString();
  }
}

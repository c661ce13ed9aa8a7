package edgegauge.adapter;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Locale;

/** Reads a message whole before it is decoded, so that the socket's time is not the decoder's. */
public final class Body {
  private static final long PATIENCE = 64 << 20;

  private Body() {}

  /** Reads to the end; length is what the sender announced, negative if nothing. What is over the limit is read and dropped, within reason. */
  public static byte[] read(InputStream in, long length, long limit) throws IOException {
    if (length > limit) {
      discard(in, length);
      throw new TooLarge(limit);
    }
    byte[] b = new byte[(length < 0 ? 1024 : (int) Math.min(length, 1 << 20)) + 1]; // one more, to see the end without growing
    int n = 0;
    for (int k; (k = in.read(b, n, b.length - n)) >= 0; ) {
      n += k;
      if (n > limit) {
        discard(in, PATIENCE);
        throw new TooLarge(limit);
      }
      if (n == b.length) b = Arrays.copyOf(b, (int) Math.min(Integer.MAX_VALUE - 16L, 2L * n));
    }
    if (n < length) throw new IOException("body is cut: " + n + " bytes of " + length);
    return n == b.length ? b : Arrays.copyOf(b, n);
  }

  /**
   * Reads the rest of a body that is refused: closing a connection while its peer still writes resets it, and the refusal is lost. Not if more than a
   * patient server would read is announced.
   */
  public static void discard(InputStream in, long length) throws IOException {
    byte[] b = new byte[8192];
    long left = length > PATIENCE ? 0 : length;
    for (int k; left > 0 && (k = in.read(b)) >= 0; ) left -= k;
  }

  /** What a Content-Type header names, without parameters and in lower case (RFC 9110, section 8.3.1); empty without a header. */
  public static String type(String header) {
    if (header == null) return "";
    int semicolon = header.indexOf(';');
    return (semicolon < 0 ? header : header.substring(0, semicolon)).trim().toLowerCase(Locale.ROOT);
  }
}

package edgegauge.adapter;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** Reads a message whole before it is decoded, so that the socket's time is not the decoder's. */
public final class Body {
  private Body() {}

  /** Reads to the end; length is what the sender announced, negative or 0 if nothing. */
  public static byte[] read(InputStream in, long length, long limit) throws IOException {
    if (length > limit) throw new TooLarge(limit);
    byte[] b = new byte[(int) Math.max(1024, Math.min(length, 1 << 20)) + 1]; // one more, to see the end without growing
    int n = 0;
    for (int k; (k = in.read(b, n, b.length - n)) >= 0; ) {
      n += k;
      if (n > limit) throw new TooLarge(limit);
      if (n == b.length) b = Arrays.copyOf(b, (int) Math.min(Integer.MAX_VALUE - 16L, 2L * n));
    }
    return n == b.length ? b : Arrays.copyOf(b, n);
  }
}

package edgegauge.compact;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Counts what goes through it. */
final class Counted extends FilterOutputStream {
  long bytes;

  Counted(OutputStream out) {
    super(out);
  }

  @Override public void write(int b) throws IOException {
    out.write(b);
    bytes++;
  }

  @Override public void write(byte[] b, int from, int length) throws IOException {
    out.write(b, from, length);
    bytes += length;
  }
}

package edgegauge.glassfish;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;

/** A request's body that is in memory. */
final class MemoryStream extends ServletInputStream {
  private final byte[] b;
  private int at;

  MemoryStream(byte[] b) {
    this.b = b;
  }

  @Override public int read() {
    return at < b.length ? b[at++] & 0xff : -1;
  }

  @Override public int read(byte[] into, int off, int len) {
    if (at == b.length) return len == 0 ? 0 : -1;
    int n = Math.min(len, b.length - at);
    System.arraycopy(b, at, into, off, n);
    at += n;
    return n;
  }

  @Override public int available() {
    return b.length - at;
  }

  @Override public boolean isFinished() {
    return at == b.length;
  }

  @Override public boolean isReady() {
    return true;
  }

  @Override public void setReadListener(ReadListener l) {
    throw new UnsupportedOperationException("the body is in memory");
  }
}

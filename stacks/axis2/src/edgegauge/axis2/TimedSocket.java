package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;

/**
 * The client's socket, with a clock at the first byte of a request: Axis2's HTTP client sends the header before it asks for the body. What it reads before
 * that is its look, of up to a millisecond, whether a kept connection was closed.
 */
final class TimedSocket extends Socket {
  private static final ThreadLocal<TimedSocket> LATER = new ThreadLocal<>(); // a thread's own, to be closed when its request is over

  @Override public void connect(SocketAddress to, int timeout) throws IOException {
    long t0 = System.nanoTime();
    try {
      super.connect(to, timeout);
    } finally {
      Exchange.mine().connection += System.nanoTime() - t0;
    }
  }

  /** Whether the answer to this thread's request is under way. */
  private static boolean answering() {
    Exchange x = Exchange.mine();
    return x.sent != 0 && x.done == 0;
  }

  /** Subtle: HttpClient closes a connection for one request alone within the read that gets the end of the answer, and so within the round trip. */
  @Override public void close() throws IOException {
    if (answering()) LATER.set(this);
    else super.close();
  }

  @Override public void shutdownInput() throws IOException {
    if (!answering()) super.shutdownInput();
  }

  @Override public void shutdownOutput() throws IOException {
    if (!answering()) super.shutdownOutput();
  }

  private void end() throws IOException {
    super.close();
  }

  /** Closes what this thread's request was to close: the request is over. */
  static void finish() throws IOException {
    TimedSocket s = LATER.get();
    if (s == null) return;
    LATER.remove();
    s.end();
  }

  @Override public InputStream getInputStream() throws IOException {
    return new FilterInputStream(super.getInputStream()) {
      @Override public int read(byte[] b, int off, int len) throws IOException {
        Exchange x = Exchange.mine();
        if (x.sent != 0) return in.read(b, off, len);
        long t0 = System.nanoTime();
        try {
          return in.read(b, off, len);
        } finally {
          x.connection += System.nanoTime() - t0;
        }
      }
    };
  }

  @Override public OutputStream getOutputStream() throws IOException {
    return new FilterOutputStream(super.getOutputStream()) {
      @Override public void write(byte[] b, int off, int len) throws IOException {
        Exchange x = Exchange.mine();
        if (x.sent == 0) x.sent = System.nanoTime();
        out.write(b, off, len);
      }
    };
  }
}

package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;

/** The client's socket, with a clock at the first byte of a request: Axis2's HTTP client sends the header before it asks for the body. */
final class TimedSocket extends Socket {
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

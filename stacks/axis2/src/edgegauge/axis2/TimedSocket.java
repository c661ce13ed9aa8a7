package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.commons.httpclient.HttpConnectionManager;
import org.apache.commons.httpclient.MultiThreadedHttpConnectionManager;
import org.apache.commons.httpclient.SimpleHttpConnectionManager;
import org.apache.commons.httpclient.params.HttpConnectionParams;
import org.apache.commons.httpclient.protocol.Protocol;
import org.apache.commons.httpclient.protocol.ProtocolSocketFactory;

/** The client's socket, with a clock at the first byte of a request: Axis2's HTTP client sends the header before it asks for the body. */
final class TimedSocket extends Socket {
  static {
    Protocol.registerProtocol("http", new Protocol("http", new Factory(), 80));
  }

  /** A manager of one connection, kept alive or not. */
  static HttpConnectionManager connections(boolean keepAlive) {
    if (!keepAlive) return new SimpleHttpConnectionManager(true);
    return new MultiThreadedHttpConnectionManager();
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

  private static final class Factory implements ProtocolSocketFactory {
    @Override public Socket createSocket(String host, int port) throws IOException {
      return createSocket(host, port, null, 0, new HttpConnectionParams());
    }

    @Override public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
      return createSocket(host, port, local, localPort, new HttpConnectionParams());
    }

    @Override public Socket createSocket(String host, int port, InetAddress local, int localPort, HttpConnectionParams params) throws IOException {
      Socket s = new TimedSocket();
      if (local != null || localPort != 0) s.bind(new InetSocketAddress(local, localPort));
      s.connect(new InetSocketAddress(host, port), params.getConnectionTimeout());
      return s;
    }
  }
}

package edgegauge.axis2;

import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.axis2.client.Options;
import org.apache.axis2.transport.http.HTTPConstants;
import org.apache.commons.httpclient.MultiThreadedHttpConnectionManager;
import org.apache.commons.httpclient.SimpleHttpConnectionManager;
import org.apache.commons.httpclient.params.HttpConnectionParams;
import org.apache.commons.httpclient.protocol.Protocol;
import org.apache.commons.httpclient.protocol.ProtocolSocketFactory;

/** The client's connections in Axis2 1.6, which stands on Commons HttpClient 3: its own manager, and timed sockets. */
final class Connections implements ProtocolSocketFactory {
  private Connections() {}

  /** One connection, kept alive or not. */
  static void set(Options o, Setup setup) {
    if (setup.hooks) Protocol.registerProtocol("http", new Protocol("http", new Connections(), 80));
    boolean keepAlive = setup.connection.equals("keep-alive");
    o.setProperty(HTTPConstants.MULTITHREAD_HTTP_CONNECTION_MANAGER, keepAlive ? new MultiThreadedHttpConnectionManager() : new SimpleHttpConnectionManager(true));
  }

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

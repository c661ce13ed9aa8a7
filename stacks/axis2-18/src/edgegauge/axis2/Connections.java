package edgegauge.axis2;

import edgegauge.adapter.Setup;
import java.net.Socket;
import org.apache.axis2.client.Options;
import org.apache.axis2.kernel.http.HTTPConstants;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.config.SocketConfig;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.impl.DefaultConnectionReuseStrategy;
import org.apache.http.impl.NoConnectionReuseStrategy;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.apache.http.protocol.HttpContext;

/** The client's connections in Axis2 1.8, which stands on HttpClient 4: one client of ours, with timed sockets. */
final class Connections extends PlainConnectionSocketFactory {
  private Connections() {}

  /** One connection, kept alive or not. A request sent twice is a failure here. */
  static void set(Options o, Setup setup) {
    ConnectionSocketFactory sockets = setup.hooks ? new Connections() : PlainConnectionSocketFactory.INSTANCE;
    boolean keepAlive = setup.connection.equals("keep-alive");
    o.setProperty(HTTPConstants.CACHED_HTTP_CLIENT, HttpClients.custom()
        .setConnectionManager(new PoolingHttpClientConnectionManager(RegistryBuilder.<ConnectionSocketFactory>create().register("http", sockets).build()))
        .setConnectionReuseStrategy(keepAlive ? DefaultConnectionReuseStrategy.INSTANCE : NoConnectionReuseStrategy.INSTANCE)
        .disableAutomaticRetries().setDefaultSocketConfig(SocketConfig.custom().setSoTimeout(setup.timeoutMillis()).build())
        .build());
    o.setProperty(HTTPConstants.SO_TIMEOUT, setup.timeoutMillis()); // Axis2 1.8 does not take the timeout of its options for it
    o.setProperty(HTTPConstants.CONNECTION_TIMEOUT, setup.timeoutMillis());
    o.setProperty(HTTPConstants.REUSE_HTTP_CLIENT, true);
  }

  @Override public Socket createSocket(HttpContext context) {
    return new TimedSocket();
  }
}

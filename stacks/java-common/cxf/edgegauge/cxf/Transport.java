package edgegauge.cxf;

import edgegauge.adapter.Setup;
import edgegauge.adapter.Tls;
import java.util.Arrays;
import javax.net.ssl.TrustManager;
import org.apache.cxf.Bus;
import org.apache.cxf.configuration.jsse.TLSClientParameters;
import org.apache.cxf.configuration.jsse.TLSServerParameters;
import org.apache.cxf.configuration.security.ClientAuthentication;
import org.apache.cxf.interceptor.InterceptorProvider;
import org.apache.cxf.transport.http.HTTPConduit;
import org.apache.cxf.transport.http_jetty.JettyHTTPServerEngineFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;

/** What CXF's stacks tell its HTTP transports: Jetty as the server, java.net.http as the client. */
final class Transport {
  /** Of a client's request context: false gives it a connection of its own. */
  static final String SHARED = "share.httpclient.http.conduit";

  /** Seconds of a server's sessions that are more than a ticket may last (RFC 8446, section 4.6.1): the JDK sends none. */
  private static final int NO_TICKETS = 7 * 86_400 + 1;

  private Transport() {}

  /** By default CXF refuses more than 50,000 children of an element, and sort has more; the body has a limit of its own. */
  static void liftLimits() {
    System.setProperty("org.apache.cxf.stax.maxChildElements", String.valueOf(Integer.MAX_VALUE));
  }

  /** The address to publish at, with a slash at its end; its port may be 0. */
  static String address(Bus bus, Setup setup) throws Exception {
    if (tls(setup) && engines(bus).retrieveJettyHTTPServerEngine(setup.port) == null) { // else it runs already
      TLSServerParameters p = new TLSServerParameters();
      p.setKeyManagers(Tls.keys(setup));
      p.setSecureSocketProtocol(Tls.VERSION);
      p.setIncludeProtocols(Arrays.asList(Tls.VERSION));
      p.setSniHostCheck(false); // a client that asks for an address sends no name
      ClientAuthentication certificate = new ClientAuthentication();
      certificate.setWant(false); // else it asks for one, and names all authorities that the JDK trusts: 15 kB
      p.setClientAuthentication(certificate);
      engines(bus).setTLSServerParametersForPort(setup.host, setup.port, p); // without the host it listens at every address
    }
    return base(setup, setup.port);
  }

  /**
   * The address with the port that the server listens on. Subtle: what Jetty notes in a session with its first request has the JDK send a ticket behind
   * the answer, also to clients that take none, and java.net.http before Java 23 closes a connection that is to be kept if bytes lie unread on it when an
   * answer ends (JDK-8330572). Nobody uses a ticket, so none is sent.
   */
  static String listening(Bus bus, Setup setup) {
    ServerConnector connector = (ServerConnector) engines(bus).retrieveJettyHTTPServerEngine(setup.port).getConnector();
    if (tls(setup))
      connector.getConnectionFactory(SslConnectionFactory.class).getSslContextFactory().getSslContext().getServerSessionContext().setSessionTimeout(NO_TICKETS);
    return base(setup, connector.getLocalPort());
  }

  /** Whom a client believes; null without TLS. */
  static TrustManager[] trust(Setup setup) throws Exception {
    return tls(setup) ? Tls.trust(setup) : null;
  }

  static void client(InterceptorProvider client, HTTPConduit conduit, Setup setup, TrustManager[] trust) {
    conduit.getClient().setVersion("1.1"); // else it offers HTTP/2
    conduit.getClient().setConnectionTimeout(setup.timeoutMillis());
    conduit.getClient().setReceiveTimeout(setup.timeoutMillis());
    Opening opening = setup.hooks && setup.connection.equals("per-request") ? Opening.of(client) : null;
    if (trust == null) return;
    TLSClientParameters p = new TLSClientParameters();
    p.setTrustManagers(opening == null ? trust : opening.clocked(trust));
    p.setSecureSocketProtocol(Tls.VERSION);
    conduit.setTlsClientParameters(p);
  }

  private static JettyHTTPServerEngineFactory engines(Bus bus) {
    return bus.getExtension(JettyHTTPServerEngineFactory.class);
  }

  private static String base(Setup setup, int port) {
    return (tls(setup) ? "https://" : "http://") + setup.urlHost() + ":" + port + "/";
  }

  private static boolean tls(Setup setup) {
    return setup.security.equals("tls");
  }
}

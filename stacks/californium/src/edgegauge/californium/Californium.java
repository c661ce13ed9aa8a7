package edgegauge.californium;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.eclipse.californium.core.CoapServer;
import org.eclipse.californium.core.config.CoapConfig;
import org.eclipse.californium.core.network.CoapEndpoint;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.UDPConnector;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.elements.config.TcpConfig;
import org.eclipse.californium.elements.config.UdpConfig;
import org.eclipse.californium.elements.tcp.netty.TcpClientConnector;
import org.eclipse.californium.elements.tcp.netty.TcpServerConnector;
import org.eclipse.californium.oscore.OSCoreCoapStackFactory;
import org.eclipse.californium.oscore.OSCoreCtxDB;
import org.eclipse.californium.scandium.config.DtlsConfig;

/** Eclipse Californium: CoAP over UDP and TCP, block-wise; plain, under OSCORE, or under DTLS 1.2 (see {@link Dtls}). */
public final class Californium extends Stack {
  static {
    CoapConfig.register();
    UdpConfig.register();
    DtlsConfig.register();
    TcpConfig.register();
  }

  private static final String[] XML = {"xml", "soap11", "soap12",
      "xml-gzip", "fastinfoset", "exi", "exi-compressed", "exi-schema", "exi-schema-compressed",
      "soap12-gzip", "soap12-fastinfoset", "soap12-exi", "soap12-exi-compressed", "soap12-exi-schema", "soap12-exi-schema-compressed"};

  public Californium() {
    super(
        new Offer(new String[] {"protobuf"}, new String[] {"none", "dtls-psk", "dtls-rpk", "dtls-x509", "oscore"}, new String[] {"coap"}),
        new Offer(new String[] {"protobuf"}, new String[] {"none"}, new String[] {"coap-tcp"}),
        new Offer(XML, new String[] {"none"}, new String[] {"coap"}, "keep-alive"));
  }

  @Override public String version() {
    return jarVersion(CoapServer.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    Configuration conf = configuration(setup);
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(setup.host), setup.port);
    CoapServer server = new CoapServer(conf);
    CoapEndpoint endpoint = endpoint(setup, conf, connector(setup, conf, address, true), Oscore.server(setup));
    server.addEndpoint(endpoint);
    server.add(new Resource(setup, services, log));
    server.start();
    return scheme(setup) + "://" + setup.urlHost() + ":" + endpoint.getAddress().getPort() + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup, configuration(setup));
  }

  private static String scheme(Setup setup) {
    return tcp(setup) ? "coap+tcp" : Dtls.wanted(setup) ? "coaps" : "coap";
  }

  /** contexts are OSCORE's, null without. */
  static CoapEndpoint endpoint(Setup setup, Configuration conf, Connector connector, OSCoreCtxDB contexts) {
    CoapEndpoint.Builder b = CoapEndpoint.builder().setConfiguration(conf).setConnector(connector);
    if (contexts != null) b.setCoapStackFactory(new OSCoreCoapStackFactory()).setCustomCoapStackArgument(contexts);
    return b.build();
  }

  /** A new socket, bound to address, or for a client to any free port of it. */
  static Connector connector(Setup setup, Configuration conf, InetSocketAddress address, boolean server) throws Exception {
    on(setup, "connection_id", "off"); // a wrong one is refused without DTLS, too
    if (tcp(setup)) return server ? new TcpServerConnector(address, conf) : new TcpClientConnector(conf);
    return Dtls.wanted(setup) ? Dtls.connector(setup, conf, address, server) : new UDPConnector(address, conf);
  }

  static boolean tcp(Setup setup) {
    return setup.transport.equals("coap-tcp");
  }

  /** An option that is on or off. */
  static boolean on(Setup setup, String option, String otherwise) {
    String v = setup.option(option, otherwise);
    if (!v.equals("on") && !v.equals("off")) throw new IllegalArgumentException("unknown " + option + " \"" + v + "\"; supported: on, off");
    return v.equals("on");
  }

  /** Californium's own defaults, but for those that a study cannot do without; README.md says why. */
  private static Configuration configuration(Setup setup) {
    return new Configuration()
        .set(CoapConfig.MAX_RESOURCE_BODY_SIZE, (int) Math.min(setup.bodyLimit, Integer.MAX_VALUE))
        .set(CoapConfig.PREFERRED_BLOCK_SIZE, 1024)
        .set(CoapConfig.MAX_MESSAGE_SIZE, 1024)
        .set(CoapConfig.DEDUPLICATOR, CoapConfig.DEDUPLICATOR_PEERS_MARK_AND_SWEEP)
        .set(CoapConfig.MID_TRACKER, CoapConfig.TrackerMode.NULL)
        .set(CoapConfig.TCP_NUMBER_OF_BULK_BLOCKS, 1)
        .set(TcpConfig.TCP_CONNECTION_IDLE_TIMEOUT, 1, TimeUnit.DAYS)
        .set(TcpConfig.TCP_WORKER_THREADS, 1);
  }

  static byte[] hex(String s) {
    byte[] b = new byte[s.length() / 2];
    for (int i = 0; i < b.length; i++) b[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
    return b;
  }
}

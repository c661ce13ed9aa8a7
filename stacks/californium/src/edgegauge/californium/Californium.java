package edgegauge.californium;

import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.eclipse.californium.core.CoapServer;
import org.eclipse.californium.core.config.CoapConfig;
import org.eclipse.californium.core.network.CoapEndpoint;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.UDPConnector;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.elements.config.UdpConfig;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.cipher.CipherSuite;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedMultiPskStore;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedSinglePskStore;

/** Eclipse Californium: CoAP over UDP, confirmable, block-wise; plain, or DTLS 1.2 with a pre-shared key. */
public final class Californium extends Stack {
  static {
    CoapConfig.register();
    UdpConfig.register();
    DtlsConfig.register();
  }

  public Californium() {
    super(new String[] {"protobuf"}, new String[] {"none", "dtls-psk"}, new String[] {"coap"});
  }

  @Override public String version() {
    return jarVersion(CoapServer.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    Configuration conf = configuration(setup);
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(setup.host), setup.port);
    CoapServer server = new CoapServer(conf);
    CoapEndpoint endpoint = endpoint(conf, connector(setup, conf, address, true));
    server.addEndpoint(endpoint);
    server.add(new Resource(setup, services, log));
    server.start();
    return (secure(setup) ? "coaps" : "coap") + "://" + setup.urlHost() + ":" + endpoint.getAddress().getPort() + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) {
    return new Client(setup, configuration(setup));
  }

  static CoapEndpoint endpoint(Configuration conf, Connector connector) {
    return CoapEndpoint.builder().setConfiguration(conf).setConnector(connector).build();
  }

  /** A new socket, bound to address, or for a client to any free port of it. */
  static Connector connector(Setup setup, Configuration conf, InetSocketAddress address, boolean server) {
    if (!secure(setup)) return new UDPConnector(address, conf);
    DtlsConnectorConfig.Builder d = DtlsConnectorConfig.builder(conf).setAddress(address);
    d.set(DtlsConfig.DTLS_ROLE, server ? DtlsConfig.DtlsRole.SERVER_ONLY : DtlsConfig.DtlsRole.CLIENT_ONLY);
    d.setAsList(DtlsConfig.DTLS_CIPHER_SUITES, CipherSuite.TLS_PSK_WITH_AES_128_CCM_8); // RFC 7252, section 9.1.3.1: the mandatory one
    byte[] key = hex(setup.credential("psk"));
    if (server) {
      AdvancedMultiPskStore store = new AdvancedMultiPskStore();
      store.setKey(setup.credential("psk_identity"), key);
      d.setAdvancedPskStore(store);
    } else {
      d.setAdvancedPskStore(new AdvancedSinglePskStore(setup.credential("psk_identity"), key));
    }
    return new DTLSConnector(d.build());
  }

  static boolean secure(Setup setup) {
    return setup.security.equals("dtls-psk");
  }

  /** Californium's own defaults, but for the four that a study cannot do without; README.md says why. */
  private static Configuration configuration(Setup setup) {
    return new Configuration()
        .set(CoapConfig.MAX_RESOURCE_BODY_SIZE, (int) Math.min(setup.bodyLimit, Integer.MAX_VALUE))
        .set(CoapConfig.PREFERRED_BLOCK_SIZE, 1024)
        .set(CoapConfig.MAX_MESSAGE_SIZE, 1024)
        .set(CoapConfig.DEDUPLICATOR, CoapConfig.DEDUPLICATOR_PEERS_MARK_AND_SWEEP)
        .set(CoapConfig.MID_TRACKER, CoapConfig.TrackerMode.NULL);
  }

  private static byte[] hex(String s) {
    byte[] b = new byte[s.length() / 2];
    for (int i = 0; i < b.length; i++) b[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
    return b;
  }
}

package edgegauge.jcoap;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.net.DatagramSocket;
import java.security.MessageDigest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.ws4d.coap.connection.BasicCoapChannelManager;
import org.ws4d.coap.interfaces.CoapServer;

/** WS4D-jCoAP, whose jar the user brings: CoAP over UDP, a message in one datagram. */
public final class Jcoap extends Stack {
  static final int LARGEST = 60_000; // bytes of body in one datagram: requests are not sent in blocks

  public Jcoap() {
    super(new Offer(new String[] {"protobuf"}, new String[] {"none"}, new String[] {"coap-draft"}, "keep-alive"));
  }

  /** The channel manager is one for a whole program. */
  @Override protected boolean again() {
    return false;
  }

  /** The jar says no version, so its checksum does. */
  @Override public String version() {
    try {
      Path jar = Paths.get(CoapServer.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      StringBuilder b = new StringBuilder("jar with SHA-256 ");
      for (byte x : MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar))) b.append(String.format("%02x", x));
      return b.toString();
    } catch (Exception e) {
      return "unknown: " + e;
    }
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    int port = setup.port;
    if (port == 0) {
      try (DatagramSocket free = new DatagramSocket()) { // jCoAP does not say which port it got
        port = free.getLocalPort();
      }
    }
    BasicCoapChannelManager.getInstance().createServerListener(new Server(setup, services, log), port);
    return "coap://" + setup.urlHost() + ":" + port + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }
}

package edgegauge.jmeds;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import org.ws4d.java.DPWSFramework;
import org.ws4d.java.communication.DPWSCommunicationManager;
import org.ws4d.java.communication.DPWSDomain;
import org.ws4d.java.communication.Discovery;
import org.ws4d.java.communication.connection.ip.IPAddress;
import org.ws4d.java.communication.connection.ip.IPNetworkDetection;
import org.ws4d.java.structures.DataStructure;
import org.ws4d.java.util.Log;

/** WS4D-JMEDS 2.0.0, whose jar the user brings: a DPWS device with one hosted service, and a client that finds it by its endpoint reference. */
public final class Jmeds extends Stack {
  static final String NAMESPACE = "urn:edgegauge:services:1";

  private static boolean started;

  public Jmeds() {
    super(new Offer(new String[] {"soap12"}, new String[] {"none"}, new String[] {"dpws"}, "keep-alive"));
  }

  /** The framework is one for a whole program. */
  @Override protected boolean again() {
    return false;
  }

  @Override public String version() {
    String v = DPWSFramework.class.getPackage().getImplementationVersion();
    return v == null ? "unknown; see the checksum of build/lib/jmeds.jar" : v;
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    start(InetAddress.getByName(setup.host));
    return Device.start(setup, services, log);
  }

  @Override public Caller call(Setup setup) throws Exception {
    start(towards(setup.url));
    return new Client(setup);
  }

  private static synchronized void start(InetAddress own) throws IOException {
    if (started) return;
    started = true;
    Log.setLogLevel(Log.DEBUG_LEVEL_ERROR);
    DPWSFramework.start(new String[0]);
    useOnly(own);
  }

  /** The address of this machine from which the device is reached. */
  private static InetAddress towards(String url) throws IOException {
    URI u = URI.create(url);
    try (DatagramSocket s = new DatagramSocket()) {
      s.connect(InetAddress.getByName(u.getHost()), u.getPort());
      return s.getLocalAddress();
    }
  }

  /**
   * Multicasts on the interface of one address and on no other. JMEDS by itself takes every interface that says it can multicast, hence all but
   * lo, on which Linux can without saying so. Its list of them is its own, so that what is in it is what it uses.
   */
  private static void useOnly(InetAddress own) throws IOException {
    IPAddress address = IPNetworkDetection.getInstance().getIPAddress(own.getHostAddress());
    NetworkInterface device = NetworkInterface.getByInetAddress(own);
    if (address == null || device == null) throw new IOException("no interface of this machine has the address " + own.getHostAddress());
    DPWSDomain domain =
        new DPWSDomain(new org.ws4d.java.communication.connection.ip.NetworkInterface(device.getName(), true, true, device.isLoopback()), address);
    DataStructure all = DPWSFramework.getCommunicationManager(DPWSCommunicationManager.COMMUNICATION_MANAGER_ID).getAvailableDomains();
    all.clear();
    all.add(domain);
    Discovery.clearDefaultOutputDomains();
    Discovery.addDefaultOutputDomain(domain);
  }
}

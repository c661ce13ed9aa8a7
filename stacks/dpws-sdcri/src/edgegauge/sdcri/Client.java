package edgegauge.sdcri;

import com.google.common.eventbus.Subscribe;
import com.google.inject.Injector;
import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.somda.sdc.dpws.client.DiscoveredDevice;
import org.somda.sdc.dpws.client.DiscoveryFilterBuilder;
import org.somda.sdc.dpws.client.DiscoveryObserver;
import org.somda.sdc.dpws.client.event.ProbedDeviceFoundMessage;
import org.somda.sdc.dpws.service.HostedServiceProxy;
import org.somda.sdc.dpws.service.HostingServiceProxy;
import org.somda.sdc.dpws.soap.SoapMessage;
import org.somda.sdc.dpws.soap.SoapUtil;
import org.somda.sdc.dpws.soap.exception.SoapFaultException;
import org.somda.sdc.dpws.wsdl.WsdlRetriever;
import org.w3c.dom.Element;

/** A client that has found its device. */
public final class Client implements Caller, DiscoveryObserver {
  private static final long MATCH_TIMEOUT = TimeUnit.SECONDS.toNanos(10); // DPWS 1.1, appendix B

  private final Setup setup;
  private final URI url;
  private final boolean each, first; // a search before every request, or before the first of a run
  private final boolean resolves;    // by Resolve, not Probe
  private final org.somda.sdc.dpws.client.Client client;
  private final SoapUtil soap;
  private final HostedServiceProxy service;
  private final String to, action;
  private final List<String> addresses;
  private final Events events; // every request is to be followed by its own; null: not subscribed
  private final BlockingQueue<DiscoveredDevice> found = new LinkedBlockingQueue<>(256); // more are dropped
  private final Map<String, Long> phases = new LinkedHashMap<>();

  Client(Setup setup) throws Exception {
    this.setup = setup;
    url = URI.create(setup.url);
    if (url.getFragment() == null) throw new IllegalArgumentException("url \"" + setup.url + "\" names no device; write dpws://HOST:PORT/PATH#urn:uuid:…");
    String discovery = Sdcri.level(setup, "discovery", "once", "first", "each");
    each = discovery.equals("each");
    first = discovery.equals("first");
    resolves = Sdcri.level(setup, "search", "probe", "resolve").equals("resolve");
    boolean nagle = Sdcri.level(setup, "nodelay", "on", "off").equals("off");
    InetAddress local = localTo(InetAddress.getByName(url.getHost()), url.getPort());
    Injector injector = Wiring.injector(setup, local);
    Wiring.start(injector, Wiring.interfaceOf(local));
    if (nagle) Wiring.nagle(injector);
    soap = injector.getInstance(SoapUtil.class);
    client = injector.getInstance(org.somda.sdc.dpws.client.Client.class);
    client.startAsync().awaitRunning();
    client.registerDiscoveryObserver(this);

    long patience = Math.max(setup.timeout, 3 * MATCH_TIMEOUT), t0 = System.nanoTime();
    DiscoveredDevice device = seek(patience);
    long t1 = System.nanoTime();
    HostingServiceProxy hosting = client.connect(device).get(patience, TimeUnit.NANOSECONDS);
    injector.getInstance(WsdlRetriever.class).retrieveWsdls(hosting);
    phases.put("discovery", t1 - t0);
    phases.put("metadata", System.nanoTime() - t1);
    addresses = device.getXAddrs();
    service = hosting.getHostedServices().get(setup.service.name);
    if (service == null || !service.getType().getTypes().contains(Sdcri.SERVICES)) throw new IOException("device has no service " + setup.service.name);
    to = service.getActiveEprAddress();
    action = Sdcri.action(setup);
    events = Sdcri.level(setup, "events", "off", "on").equals("on") ? new Events(service, action + "Event", patience) : null;
  }

  /** The address by which the host is reached; nothing is sent. */
  private static InetAddress localTo(InetAddress host, int port) throws IOException {
    try (DatagramSocket s = new DatagramSocket()) {
      s.connect(host, port > 0 ? port : 1);
      return s.getLocalAddress();
    }
  }

  @Override public Map<String, Long> phases() {
    return phases;
  }

  @Subscribe public void found(ProbedDeviceFoundMessage m) {
    found.offer(m.getPayload());
  }

  /** Asks where the device is, and again after each of SDCri's own timeouts, until it answers. */
  private DiscoveredDevice resolve(long patience) throws Exception {
    for (long end = System.nanoTime() + patience, left; (left = end - System.nanoTime()) > 0; ) {
      try {
        DiscoveredDevice d = client.resolve(url.getFragment()).get(Math.min(left, MATCH_TIMEOUT), TimeUnit.NANOSECONDS);
        if (d.getEprAddress().equals(url.getFragment()) && !d.getXAddrs().isEmpty()) return d;
      } catch (ExecutionException | TimeoutException e) {
        Thread.sleep(1); // nobody answered this one
      }
    }
    throw new IOException("device " + url.getFragment() + " did not answer a Resolve; is multicast possible?");
  }

  /** Probes, and again after each MATCH_TIMEOUT, until the device answers. */
  private DiscoveredDevice seek(long patience) throws Exception {
    if (resolves) return resolve(patience);
    found.clear();
    for (long end = System.nanoTime() + patience, now; (now = System.nanoTime()) < end; ) {
      client.probe(new DiscoveryFilterBuilder().addType(Sdcri.DEVICE).get());
      long round = Math.min(end, now + MATCH_TIMEOUT);
      for (long left; (left = round - System.nanoTime()) > 0; ) {
        DiscoveredDevice d = found.poll(left, TimeUnit.NANOSECONDS);
        if (d != null && d.getEprAddress().equals(url.getFragment()) && !d.getXAddrs().isEmpty()) return d;
      }
    }
    throw new IOException("device " + url.getFragment() + " did not answer a Probe; is multicast possible?");
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    long sought = 0;
    if (each || first && x.seq == 1) {
      long t0 = System.nanoTime();
      DiscoveredDevice d = seek(setup.timeout);
      if (!d.getXAddrs().equals(addresses)) throw new IOException("the device has moved from " + addresses + " to " + d.getXAddrs());
      sought = System.nanoTime() - t0;
    }
    long t0 = System.nanoTime();
    Element body = Dom.write(setup.service, false, m);
    x.serialization = System.nanoTime() - t0;
    SoapMessage response;
    try {
      response = service.sendRequestResponse(soap.createMessage(action, to, body));
    } catch (SoapFaultException e) {
      throw new IOException(e.getMessage(), e);
    } finally {
      if (x.sent != 0) x.sent -= sought; // Subtle: the search came first; so it is in the round trip, and serialization is not
    }
    t0 = System.nanoTime();
    List<Object> any = response.getOriginalEnvelope().getBody().getAny();
    if (any.size() != 1 || !(any.get(0) instanceof Element)) throw new IOException("answer does not hold one message");
    Message answer = Dom.read(setup.service, true, (Element) any.get(0));
    x.deserialization += System.nanoTime() - t0;
    if (events != null) events.await(setup.timeout);
    return answer;
  }
}

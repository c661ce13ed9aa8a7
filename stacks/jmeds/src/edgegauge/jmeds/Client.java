package edgegauge.jmeds;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.ws4d.java.client.DefaultClient;
import org.ws4d.java.client.SearchParameter;
import org.ws4d.java.service.Operation;
import org.ws4d.java.service.parameter.ParameterValue;
import org.ws4d.java.service.reference.DeviceReference;
import org.ws4d.java.service.reference.ServiceReference;
import org.ws4d.java.structures.Iterator;
import org.ws4d.java.types.QNameSet;

/** A client that has found its device. */
final class Client extends DefaultClient implements Caller {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(15); // matches come seconds later

  private final Setup setup;
  private final String device;
  private final boolean first; // a search before the first request of a run
  private final Operation operation;
  private final LinkedBlockingQueue<DeviceReference> found = new LinkedBlockingQueue<>(256); // more are dropped
  private final Map<String, Long> phases = new LinkedHashMap<>();

  Client(Setup setup) throws Exception {
    this.setup = setup;
    device = URI.create(setup.url).getFragment();
    if (device == null) throw new IllegalArgumentException("url \"" + setup.url + "\" names no device; write dpws://HOST:PORT/PATH#urn:uuid:…");
    String discovery = setup.option("discovery", "once");
    if (!discovery.equals("once") && !discovery.equals("first")) throw new IllegalArgumentException("unknown discovery \"" + discovery + "\"; supported: once, first");
    first = discovery.equals("first");
    long t0 = System.nanoTime();
    DeviceReference reference = seek();
    long t1 = System.nanoTime();
    operation = operation(reference);
    phases.put("discovery", t1 - t0);
    phases.put("metadata", System.nanoTime() - t1);
  }

  private Operation operation(DeviceReference reference) throws Exception {
    for (Iterator all = reference.getDevice().getServiceReferences(); all.hasNext(); ) {
      Operation o = ((ServiceReference) all.next()).getService().getAnyOperation(Values.SERVICES, setup.service.name);
      if (o != null) return o;
    }
    throw new IOException("device has no operation " + setup.service.name);
  }

  private DeviceReference seek() throws Exception {
    found.clear();
    SearchParameter wanted = new SearchParameter();
    wanted.setDeviceTypes(new QNameSet(Values.DEVICE));
    searchDevice(wanted);
    for (long end = System.nanoTime() + PATIENCE, left; (left = end - System.nanoTime()) > 0; ) {
      DeviceReference d = found.poll(left, TimeUnit.NANOSECONDS);
      if (d != null && d.getEndpointReference().getAddress().toString().equals(device)) return d;
    }
    throw new IOException("device " + device + " did not answer a Probe; is multicast possible?");
  }

  @Override public void deviceFound(DeviceReference reference, SearchParameter wanted) {
    found.offer(reference);
  }

  @Override public Map<String, Long> phases() {
    return phases;
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    long sought = 0;
    if (first && x.seq == 1) {
      long t0 = System.nanoTime();
      seek();
      sought = System.nanoTime() - t0;
    }
    long t0 = System.nanoTime();
    ParameterValue in = operation.createInputValue();
    Values.write(setup.service, false, m, in);
    x.serialization = System.nanoTime() - t0;
    x.sent = System.nanoTime() - sought; // Subtle: the search came first; so it is in the round trip, and serialization is not
    ParameterValue out = operation.invoke(in);
    x.done = System.nanoTime();
    Message answer = Values.read(setup.service, true, out);
    x.deserialization = System.nanoTime() - x.done;
    return answer;
  }
}

package edgegauge.jmeds;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.ws4d.java.communication.HTTPBinding;
import org.ws4d.java.service.DefaultDevice;
import org.ws4d.java.service.DefaultService;
import org.ws4d.java.service.Operation;
import org.ws4d.java.service.parameter.ParameterValue;
import org.ws4d.java.types.QNameSet;
import org.ws4d.java.types.URI;

/** A device with one hosted service of one operation. */
final class Device {
  private Device() {}

  static String start(Setup setup, Services services, ServerLog log) throws Exception {
    int port = setup.port;
    if (port == 0) {
      try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getByName(setup.host))) { // the URL must say it
        port = free.getLocalPort();
      }
    }
    DefaultDevice device = new DefaultDevice();
    device.setPortTypes(new QNameSet(Values.DEVICE));
    device.addFriendlyName("en-US", "edgegauge");
    device.addManufacturer("en-US", "edgegauge");
    device.addBinding(new HTTPBinding(setup.host, port, "device"));
    DefaultService service = new DefaultService();
    service.addBinding(new HTTPBinding(setup.host, port, setup.service.name));
    service.setServiceId(new URI(setup.service.name));
    service.addOperation(new Answer(setup, services, log));
    device.addService(service);
    device.start();
    return "dpws://" + setup.urlHost() + ":" + port + "/" + setup.service.name + "#" + device.getEndpointReference().getAddress();
  }

  private static final class Answer extends Operation {
    private final Setup setup;
    private final Services services;
    private final ServerLog log;

    Answer(Setup setup, Services services, ServerLog log) {
      super(setup.service.name, Values.SERVICES);
      this.setup = setup;
      this.services = services;
      this.log = log;
      setInput(Values.type(setup.service, false));
      setOutput(Values.type(setup.service, true));
      setInputAction(Values.action(setup.service, false)); // else JMEDS makes up …/ServicesSERVICERequest, and leaves all others without an answer
      setOutputAction(Values.action(setup.service, true));
    }

    /** JMEDS has read the request before, and writes the response after: both are outside of every phase. */
    @Override public ParameterValue invoke(ParameterValue in) {
      Exchange x = Exchange.mine().begin();
      try {
        Message request = Values.read(setup.service, false, in);
        long t0 = System.nanoTime();
        x.deserialization = t0 - x.begun;
        Message response = services.answer(setup.service, request);
        long t1 = System.nanoTime();
        x.processing = t1 - t0;
        ParameterValue out = createOutputValue();
        Values.write(setup.service, true, response, out);
        x.serialization = System.nanoTime() - t1;
        log.sending();
        log.sent(x);
        return out;
      } catch (java.io.IOException e) {
        throw new IllegalStateException(e.getMessage(), e);
      }
    }
  }
}

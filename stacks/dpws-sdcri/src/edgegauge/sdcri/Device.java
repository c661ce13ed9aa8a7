package edgegauge.sdcri;

import com.google.inject.Injector;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.somda.sdc.dpws.ThisDeviceBuilder;
import org.somda.sdc.dpws.ThisModelBuilder;
import org.somda.sdc.dpws.device.DeviceSettings;
import org.somda.sdc.dpws.device.factory.DeviceFactory;
import org.somda.sdc.dpws.service.factory.HostedServiceFactory;
import org.somda.sdc.dpws.soap.wseventing.ActionBasedEventSource;
import org.somda.sdc.dpws.soap.wsaddressing.WsAddressingUtil;
import org.somda.sdc.dpws.soap.wsaddressing.model.EndpointReferenceType;

/** A device with one hosted service. */
final class Device {
  private Device() {}

  static String start(Setup setup, Services services, ServerLog log) throws Exception {
    boolean nagle = Sdcri.level(setup, "nodelay", "on", "off").equals("off");
    InetAddress host = InetAddress.getByName(setup.host);
    NetworkInterface on = Wiring.interfaceOf(host);
    Injector injector = Wiring.injector(setup, host);
    Registry registry = injector.getInstance(Registry.class);
    registry.record(log);
    Wiring.start(injector, on);
    EndpointReferenceType epr = injector.getInstance(WsAddressingUtil.class).createEprWithAddress("urn:uuid:" + UUID.randomUUID());
    org.somda.sdc.dpws.device.Device device = injector.getInstance(DeviceFactory.class).createDevice(new DeviceSettings() {
      @Override public EndpointReferenceType getEndpointReference() {
        return epr;
      }

      @Override public NetworkInterface getNetworkInterface() {
        return on;
      }
    });
    device.getDiscoveryAccess().setTypes(List.of(Sdcri.DEVICE));
    device.getHostingServiceAccess().setThisDevice(injector.getInstance(ThisDeviceBuilder.class).get());
    device.getHostingServiceAccess().setThisModel(injector.getInstance(ThisModelBuilder.class).get());
    Operations operations = injector.getInstance(Operations.class);
    operations.services = services;
    if (Sdcri.level(setup, "events", "off", "on").equals("on")) {
      operations.events = injector.getInstance(ActionBasedEventSource.class);
      operations.registerEventSource(operations.events);
    }
    device.getHostingServiceAccess().addHostedService(injector.getInstance(HostedServiceFactory.class)
        .createHostedService(setup.service.name, List.of(Sdcri.SERVICES), operations, wsdl()));
    device.startAsync().awaitRunning();
    if (nagle) Wiring.nagle(injector);
    return "dpws" + registry.service().substring("http".length()) + "#" + epr.getAddress().getValue();
  }

  /** The contract's own. */
  private static byte[] wsdl() throws Exception {
    try (InputStream in = Device.class.getResourceAsStream("/services.wsdl")) {
      if (in == null) return "<wsdl:definitions xmlns:wsdl='http://schemas.xmlsoap.org/wsdl/' targetNamespace='urn:edgegauge:services:1'/>".getBytes(StandardCharsets.UTF_8);
      return in.readAllBytes();
    }
  }
}

package edgegauge.sdcri;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.util.List;
import javax.xml.namespace.QName;
import org.somda.sdc.dpws.DpwsFramework;

/** SDCri's DPWS: a device with one hosted service, and a client that finds it by its endpoint reference. */
public final class Sdcri extends Stack {
  static final String NAMESPACE = "urn:edgegauge:services:1";
  static final QName DEVICE = new QName(NAMESPACE, "Device"), SERVICES = new QName(NAMESPACE, "Services");

  public Sdcri() {
    super(new Offer(new String[] {"soap12"}, new String[] {"none"}, new String[] {"dpws"}, "keep-alive"));
  }

  @Override public String version() {
    return jarVersion(DpwsFramework.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    return Device.start(setup, services, log);
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }

  static String action(Setup setup) {
    return NAMESPACE + "/" + setup.service.name;
  }

  /** A level of an option, or an error that names the levels. The first is the default. */
  static String level(Setup setup, String option, String... levels) {
    String v = setup.option(option, levels[0]);
    if (!List.of(levels).contains(v)) throw new IllegalArgumentException("unknown " + option + " \"" + v + "\"; supported: " + String.join(", ", levels));
    return v;
  }
}

package edgegauge.jmeds;

import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import java.util.Collections;
import java.util.List;
import org.ws4d.java.DPWSFramework;
import org.ws4d.java.util.Log;

/** WS4D-JMEDS 2.0.0, whose jar the user brings: a DPWS device with one hosted service, and a client that finds it by its endpoint reference. */
public final class Jmeds extends Stack {
  static final String NAMESPACE = "urn:edgegauge:services:1";

  private static boolean started;

  public Jmeds() {
    super(new String[] {"soap12"}, new String[] {"none"}, new String[] {"dpws"});
  }

  @Override protected List<String> connections() {
    return Collections.singletonList("keep-alive");
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
    start();
    return Device.start(setup, services, log);
  }

  @Override public Caller call(Setup setup) throws Exception {
    start();
    return new Client(setup);
  }

  private static synchronized void start() {
    if (started) return;
    started = true;
    Log.setLogLevel(Log.DEBUG_LEVEL_ERROR);
    DPWSFramework.start(new String[0]);
  }
}

package edgegauge.microemu;

import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.TimedConnection;
import lab.LabMIDlet;
import org.microemu.app.Headless;

/** A MIDlet in MicroEmulator: a client, SOAP by kXML2 or raw text, over MIDP's HttpConnection. */
public final class MicroEmu extends Stack {
  public MicroEmu() {
    super(new String[] {"soap11", "text"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(Headless.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) {
    throw new IllegalArgumentException("a MIDlet serves nothing; it has call");
  }

  /** A phone is booted once. */
  @Override protected boolean again() {
    return false;
  }

  @Override public Caller call(Setup setup) throws Exception {
    if (booted) throw new IllegalArgumentException("the phone has one connection; use concurrency 1");
    Tick.rate(setup.option("bytecodes_per_ms", 0));
    System.setProperty("microedition.configuration", "CLDC-1.1");
    System.setProperty("microedition.profiles", "MIDP-2.0");
    System.setProperty("sun.net.client.defaultConnectTimeout", "" + setup.timeoutMillis());
    System.setProperty("sun.net.client.defaultReadTimeout", "" + setup.timeoutMillis());
    JdkHttp.client(true); // a MIDlet that wants another says so in its request
    TimedConnection.everywhere();
    boot();
    return new MidletCaller(setup);
  }

  private static boolean booted;

  /** Subtle: the system's class loader, or the MIDlet is loaded twice and the emulator's old ASM rewrites it. */
  private static void boot() throws InterruptedException {
    booted = true;
    Thread t = new Thread(() -> Headless.main(new String[] {"--appclassloader", "system", LabMIDlet.class.getName()}), "emulator");
    t.setDaemon(true);
    t.start();
    if (!LabMIDlet.waited(30_000)) throw new IllegalStateException("MicroEmulator did not start the MIDlet within 30 s");
  }
}

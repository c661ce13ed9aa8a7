package edgegauge.glassfish;

import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.jaxws.Clock;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.glassfish.embeddable.GlassFish;
import org.glassfish.embeddable.GlassFishProperties;
import org.glassfish.embeddable.GlassFishRuntime;

/** GlassFish inside this program, with the web application of the encoding deployed. It has no client of its own. */
public final class GlassFishStack extends Stack {
  private static final String NETWORK = "embedded-glassfish-config.server.network-config.";

  private GlassFish server; // kept for whoever asks again
  private int port;
  private String deployed; // the war, and whether it has hooks

  public GlassFishStack() {
    super(new String[] {"soap11", "soap12", "text", "protobuf", "xml"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(GlassFish.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    Hosted.setup = setup;
    Hosted.services = services;
    Hosted.log = log;
    Clock.server(setup.hooks ? log : null);
    String wanted = war(setup) + setup.hooks;
    if (server == null) start(setup);
    if (wanted.equals(deployed) && Hosted.application != null) Hosted.application.serve();
    else deploy(setup);
    deployed = wanted;
    return "http://" + setup.urlHost() + ":" + port + path(setup);
  }

  private void deploy(Setup setup) throws Exception {
    Hosted.application = null;
    if (deployed != null) server.getDeployer().undeploy("services");
    File war = new File("build/wars/" + war(setup) + ".war");
    // Subtle: a deployment that fails throws nothing.
    if (server.getDeployer().deploy(war, "--contextroot=" + context(setup), "--name=services", "--force=true") == null)
      throw new IllegalStateException("GlassFish did not deploy " + war + "; see its log above");
  }

  private void start(Setup setup) throws Exception {
    privateFolder(setup);
    port = setup.port != 0 ? setup.port : freePort(setup.host);
    GlassFishProperties properties = new GlassFishProperties();
    properties.setPort("http-listener", port);
    properties.setProperty(NETWORK + "network-listeners.network-listener.http-listener.address", setup.host);
    properties.setProperty(NETWORK + "protocols.protocol.http-listener.http.max-connections", "-1"); // requests on one connection; else 256
    properties.setProperty(NETWORK + "protocols.protocol.http-listener.http.timeout-seconds", "" + JdkHttp.DAY); // of a kept connection; else 30
    server = GlassFishRuntime.bootstrap().newGlassFish(properties);
    server.start();
  }

  static String path(Setup setup) {
    String tail = setup.encoding.startsWith("soap") ? "Services" : setup.service.name;
    return context(setup) + (war(setup).equals("axis2") ? "/services/" + (setup.encoding.equals("xml") ? "Services/" : "") : "/") + tail;
  }

  private static String context(Setup setup) {
    return war(setup).equals("axis2") ? "/axis2" : "/services";
  }

  /** The encoding's own war, unless the option asks for Axis2's, the only one that speaks plain XML. */
  private static String war(Setup setup) {
    String war = setup.option("war", "");
    boolean axis2 = setup.encoding.equals("xml") || setup.encoding.startsWith("soap");
    if (war.isEmpty()) return setup.encoding.equals("xml") ? "axis2" : setup.encoding;
    if (!war.equals("axis2") || !axis2) throw new IllegalArgumentException("no war \"" + war + "\" for encoding " + setup.encoding + "; axis2 is for soap11, soap12 and xml");
    return war;
  }

  /** GlassFish makes its instance below java.io.tmpdir, and leaves it there if the program is ended: so below what the lab removes. */
  private static void privateFolder(Setup setup) throws IOException {
    Path parent = setup.directory.isEmpty() ? Paths.get(System.getProperty("java.io.tmpdir")) : Paths.get(setup.directory);
    System.setProperty("java.io.tmpdir", Files.createTempDirectory(parent, "glassfish").toString());
  }

  /** GlassFish does not tell which port it took if it is told to take any. */
  private static int freePort(String host) throws IOException {
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getByName(host))) {
      return s.getLocalPort();
    }
  }

  @Override public Caller call(Setup setup) {
    throw new IllegalArgumentException("GlassFish is a server only; take the client of jaxws-rt, jersey3 or a reference stack");
  }
}

import java.io.File;
import java.io.PrintStream;
import java.net.ServerSocket;
import org.glassfish.embeddable.GlassFish;
import org.glassfish.embeddable.GlassFishProperties;
import org.glassfish.embeddable.GlassFishRuntime;

/** GlassFish's least: the embedded server with one war of one JAX-WS endpoint. Its instance lies below the folder of the first argument. */
public final class Bare {
  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // GlassFish prints
    System.setProperty("java.io.tmpdir", args[0]);
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    GlassFishProperties properties = new GlassFishProperties();
    properties.setPort("http-listener", port);
    GlassFish server = GlassFishRuntime.bootstrap().newGlassFish(properties);
    server.start();
    File war = new File(new File(Bare.class.getProtectionDomain().getCodeSource().getLocation().toURI()), "bare.war");
    if (server.getDeployer().deploy(war, "--contextroot=/bare", "--name=bare") == null) throw new IllegalStateException("GlassFish did not deploy " + war);
    out.println("http://127.0.0.1:" + port + "/bare/Services");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import java.net.ServerSocket;
import java.net.URI;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;

/** Jersey 3's least: one resource that gives back its text, on Grizzly. */
@Path("/echo")
public final class Bare {
  @POST @Consumes("text/plain") @Produces("text/plain")
  public String echo(String text) {
    return text;
  }

  public static void main(String[] args) throws Exception {
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    GrizzlyHttpServerFactory.createHttpServer(URI.create("http://127.0.0.1:" + port + "/"), new ResourceConfig(Bare.class));
    System.out.println("http://127.0.0.1:" + port + "/echo");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

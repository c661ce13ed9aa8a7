import com.sun.jersey.api.container.grizzly2.GrizzlyServerFactory;
import com.sun.jersey.api.core.DefaultResourceConfig;
import java.net.ServerSocket;
import javax.ws.rs.Consumes;
import javax.ws.rs.POST;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;

/** Jersey 1's least: one resource that gives back its text, on Grizzly. */
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
    GrizzlyServerFactory.createHttpServer("http://127.0.0.1:" + port + "/", new DefaultResourceConfig(Bare.class));
    System.out.println("http://127.0.0.1:" + port + "/echo");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

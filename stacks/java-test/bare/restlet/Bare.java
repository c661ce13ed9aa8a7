import java.net.ServerSocket;
import org.restlet.Application;
import org.restlet.Component;
import org.restlet.Restlet;
import org.restlet.data.Protocol;
import org.restlet.resource.Post;
import org.restlet.resource.ServerResource;
import org.restlet.routing.Router;

/** Restlet's least: a component with one resource that gives back its text, on the JDK's server. */
public final class Bare {
  public static final class Echo extends ServerResource {
    @Post("txt:txt") public String echo(String text) {
      return text;
    }
  }

  public static void main(String[] args) throws Exception {
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    Component component = new Component();
    component.getServers().add(Protocol.HTTP, "127.0.0.1", port);
    component.getDefaultHost().attach(new Application() {
      @Override public Restlet createInboundRoot() {
        Router router = new Router(getContext());
        router.attach("/echo", Echo.class);
        return router;
      }
    });
    component.start();
    System.out.println("http://127.0.0.1:" + port + "/echo");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

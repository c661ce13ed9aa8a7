import java.net.ServerSocket;
import javax.ws.rs.Consumes;
import javax.ws.rs.POST;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.xml.bind.annotation.XmlRootElement;
import org.apache.cxf.jaxrs.JAXRSServerFactoryBean;
import org.apache.cxf.jaxrs.lifecycle.SingletonResourceProvider;

/** CXF's least: one resource that gives back its bean, by CXF's own provider for JAXB, on CXF's Jetty. */
public final class Bare {
  @XmlRootElement(name = "echo")
  public static final class Text {
    public String text;
  }

  @Path("/")
  public static final class Echo {
    @POST @Path("echo") @Consumes("application/xml") @Produces("application/xml")
    public Text echo(Text t) {
      return t;
    }
  }

  public static void main(String[] args) throws Exception {
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    JAXRSServerFactoryBean f = new JAXRSServerFactoryBean();
    f.setResourceClasses(Echo.class);
    f.setResourceProvider(Echo.class, new SingletonResourceProvider(new Echo()));
    f.setAddress("http://127.0.0.1:" + port + "/");
    f.create();
    System.out.println("http://127.0.0.1:" + port + "/echo");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

import java.net.ServerSocket;
import javax.jws.WebService;
import javax.jws.soap.SOAPBinding;
import org.apache.cxf.jaxws.JaxWsServerFactoryBean;

/** CXF's least for SOAP: one operation that gives back its string, without wrapping, on CXF's Jetty. */
@WebService(targetNamespace = "urn:bare")
@SOAPBinding(parameterStyle = SOAPBinding.ParameterStyle.BARE)
public class Bare {
  public String echo(String text) {
    return text;
  }

  public static void main(String[] args) throws Exception {
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    JaxWsServerFactoryBean f = new JaxWsServerFactoryBean();
    f.setServiceBean(new Bare());
    f.setAddress("http://127.0.0.1:" + port + "/services");
    f.create();
    System.out.println("http://127.0.0.1:" + port + "/services");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

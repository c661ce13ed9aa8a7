import java.net.ServerSocket;
import javax.jws.WebService;
import javax.jws.soap.SOAPBinding;
import javax.xml.ws.Endpoint;

/** Metro's least: one operation that gives back its string, without wrapping, on the JDK's server. */
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
    String url = "http://127.0.0.1:" + port + "/services";
    Endpoint.publish(url, new Bare());
    System.out.println(url);
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}

import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.Socket;
import javax.xml.namespace.QName;
import org.apache.axiom.soap.SOAPEnvelope;
import org.apache.axis2.AxisFault;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.context.ConfigurationContextFactory;
import org.apache.axis2.context.MessageContext;
import org.apache.axis2.description.AxisOperation;
import org.apache.axis2.description.AxisService;
import org.apache.axis2.description.InOutAxisOperation;
import org.apache.axis2.receivers.AbstractInOutMessageReceiver;
import org.apache.axis2.transport.http.SimpleHTTPServer;

/** Axis2's least: one operation that gives back its element, on Axis2's own server. No data binding, no WSDL. */
public final class Bare extends AbstractInOutMessageReceiver {
  public static void main(String[] args) throws Exception {
    int port;
    try (ServerSocket s = new ServerSocket(0)) {
      port = s.getLocalPort();
    }
    ConfigurationContext context = ConfigurationContextFactory.createConfigurationContextFromFileSystem(null, null);
    AxisService service = new AxisService("Bare");
    service.setTargetNamespace("urn:bare");
    AxisOperation echo = new InOutAxisOperation(new QName("urn:bare", "echo"));
    echo.setMessageReceiver(new Bare());
    service.addOperation(echo);
    service.mapActionToOperation("urn:bare/echo", echo);
    context.getAxisConfiguration().addService(service);
    new SimpleHTTPServer(context, port).start();
    for (boolean listens = false; !listens; ) { // it does so in a thread of its own
      try (Socket s = new Socket("127.0.0.1", port)) {
        listens = true;
      } catch (ConnectException e) {
        Thread.sleep(1);
      }
    }
    System.out.println("http://127.0.0.1:" + port + "/axis2/services/Bare");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }

  @Override public void invokeBusinessLogic(MessageContext in, MessageContext out) throws AxisFault {
    SOAPEnvelope e = getSOAPFactory(in).getDefaultEnvelope();
    e.getBody().addChild(in.getEnvelope().getBody().getFirstElement().cloneOMElement());
    out.setEnvelope(e);
  }
}

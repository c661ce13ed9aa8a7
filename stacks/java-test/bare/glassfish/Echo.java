import javax.jws.WebService;
import javax.jws.soap.SOAPBinding;

/** All that the bare war has: one operation that gives back its string, without wrapping. */
@WebService(targetNamespace = "urn:bare", serviceName = "Services")
@SOAPBinding(parameterStyle = SOAPBinding.ParameterStyle.BARE)
public class Echo {
  public String echo(String text) {
    return text;
  }
}

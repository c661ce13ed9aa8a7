package edgegauge.axis2;

import edgegauge.adapter.TooLarge;
import javax.xml.namespace.QName;
import org.apache.axiom.soap.SOAP11Constants;
import org.apache.axiom.soap.SOAP12Constants;
import org.apache.axis2.AxisFault;
import org.apache.axis2.Constants;
import org.apache.axis2.context.MessageContext;

/** Faults that say who is at fault; Axis2's own binding errors all say the server is. */
final class Faults {
  private Faults() {}

  /** The request could not be read: Client in SOAP 1.1, Sender in SOAP 1.2, HTTP 400 without SOAP. */
  static AxisFault sender(Throwable e, MessageContext m) {
    String reason = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    boolean soap = !m.isDoingREST() && !(m.getEnvelope() == null && type(m).startsWith("application/xml"));
    boolean soap12 = m.getEnvelope() == null ? type(m).startsWith("application/soap+xml") : !m.isSOAP11();
    String refused = e instanceof TooLarge && !soap ? "413" : "400";
    m.setProperty(Constants.HTTP_RESPONSE_STATE, soap && !soap12 ? "500" : refused); // SOAP 1.1, section 6.2, has 500 for every fault
    QName code = soap12 ? new QName(SOAP12Constants.SOAP_ENVELOPE_NAMESPACE_URI, SOAP12Constants.FAULT_CODE_SENDER, "soapenv")
        : new QName(SOAP11Constants.SOAP_ENVELOPE_NAMESPACE_URI, SOAP11Constants.FAULT_CODE_SENDER, "soapenv");
    return new AxisFault(reason, code, e);
  }

  private static String type(MessageContext m) {
    Object t = m.getProperty(Constants.Configuration.CONTENT_TYPE);
    return t == null ? "" : t.toString();
  }
}

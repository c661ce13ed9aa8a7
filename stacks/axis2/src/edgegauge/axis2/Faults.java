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

  /** The request could not be read: Client in SOAP 1.1 and without SOAP, Sender in SOAP 1.2. */
  static AxisFault sender(Throwable e, MessageContext m) {
    String reason = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    boolean soap12 = m.getEnvelope() == null ? type(m).startsWith("application/soap+xml") : !m.isSOAP11();
    QName code = soap12 ? new QName(SOAP12Constants.SOAP_ENVELOPE_NAMESPACE_URI, SOAP12Constants.FAULT_CODE_SENDER, "soapenv")
        : new QName(SOAP11Constants.SOAP_ENVELOPE_NAMESPACE_URI, SOAP11Constants.FAULT_CODE_SENDER, "soapenv");
    return new AxisFault(reason, code, e);
  }

  /** HTTP's status of a fault: SOAP 1.1, section 6.2, has 500 for every one; SOAP 1.2 and plain XML say whose it is. */
  static int status(AxisFault e, String encoding) {
    String code = e.getFaultCode() == null ? "" : e.getFaultCode().getLocalPart();
    boolean sender = code.equals(SOAP11Constants.FAULT_CODE_SENDER) || code.equals(SOAP12Constants.FAULT_CODE_SENDER);
    if (!sender || encoding.equals("soap11")) return 500;
    return encoding.equals("xml") && e.getCause() instanceof TooLarge ? 413 : 400;
  }

  private static String type(MessageContext m) {
    Object t = m.getProperty(Constants.Configuration.CONTENT_TYPE);
    return t == null ? "" : t.toString();
  }
}

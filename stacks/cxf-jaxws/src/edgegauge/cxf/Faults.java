package edgegauge.cxf;

import org.apache.cxf.binding.soap.SoapFault;
import org.apache.cxf.binding.soap.SoapMessage;
import org.apache.cxf.binding.soap.SoapVersion;
import org.apache.cxf.phase.PhaseInterceptorChain;

/** Faults in the version of SOAP that the request is in. */
final class Faults {
  private Faults() {}

  /** The sender's fault: 500 in SOAP 1.1, 400 in 1.2, as their bindings to HTTP have it. */
  static SoapFault sender(String reason) {
    SoapVersion v = version();
    SoapFault f = new SoapFault(String.valueOf(reason), v.getSender());
    if (v.getVersion() == 1.2) f.setStatusCode(400);
    return f;
  }

  static SoapFault receiver(String reason) {
    return new SoapFault(String.valueOf(reason), version().getReceiver());
  }

  private static SoapVersion version() {
    return ((SoapMessage) PhaseInterceptorChain.getCurrentMessage()).getVersion();
  }
}

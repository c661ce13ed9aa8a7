// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

import org.ws4d.coap.messages.CoapMediaType;
import org.ws4d.coap.messages.CoapResponseCode;

public interface CoapServerChannel extends CoapChannel {
  CoapResponse createResponse(CoapMessage request, CoapResponseCode code);

  CoapResponse createResponse(CoapMessage request, CoapResponseCode code, CoapMediaType type);
}

// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

import org.ws4d.coap.messages.CoapMediaType;

public interface CoapMessage {
  byte[] getPayload();

  void setPayload(byte[] payload);

  byte[] getToken();

  CoapMediaType getContentType();

  void setContentType(CoapMediaType type);
}

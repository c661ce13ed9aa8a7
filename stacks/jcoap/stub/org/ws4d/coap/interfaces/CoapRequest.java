// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

import org.ws4d.coap.messages.CoapRequestCode;

public interface CoapRequest extends CoapMessage {
  void setToken(byte[] token);

  void setUriPath(String path);

  String getUriPath();

  CoapRequestCode getRequestCode();
}

// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

import org.ws4d.coap.messages.CoapResponseCode;

public interface CoapResponse extends CoapMessage {
  CoapResponseCode getResponseCode();
}

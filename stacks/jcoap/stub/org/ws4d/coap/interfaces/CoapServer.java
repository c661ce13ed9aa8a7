// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

public interface CoapServer {
  CoapServer onAccept(CoapRequest request);

  void onRequest(CoapServerChannel channel, CoapRequest request);

  void onSeparateResponseFailed(CoapServerChannel channel);
}

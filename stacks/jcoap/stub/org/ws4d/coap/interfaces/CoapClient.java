// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

public interface CoapClient {
  void onResponse(CoapClientChannel channel, CoapResponse response);

  void onConnectionFailed(CoapClientChannel channel, boolean notReachable, boolean resetByServer);
}

// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.messages;

public enum CoapResponseCode {
  Changed_204, Content_205, Bad_Request_400, Not_Found_404, Method_Not_Allowed_405, Unsupported_Media_Type_415, Internal_Server_Error_500
}

package edgegauge.axis2;

import edgegauge.adapter.Body;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.io.InputStream;
import org.apache.axiom.om.OMException;
import org.apache.axis2.AxisFault;
import org.apache.axis2.Constants;
import org.apache.axis2.context.MessageContext;
import org.apache.axis2.transport.http.HTTPWorker;
import org.apache.axis2.transport.http.server.AxisHttpRequest;
import org.apache.axis2.transport.http.server.AxisHttpResponse;
import org.apache.axis2.transport.http.server.Worker;
import org.apache.http.Header;
import org.apache.http.HttpException;

/**
 * Refuses before Axis2, with HTTP's own status, what Axis2 takes or calls its own error: other methods and paths, any media type that holds an envelope,
 * a body of any announced size.
 */
final class Gate implements Worker {
  static final ThreadLocal<Long> ANNOUNCED = ThreadLocal.withInitial(() -> -1L); // Content-Length of this thread's request, -1 if none

  private final Setup setup;
  private final String path, type;
  private final HTTPWorker axis2 = new HTTPWorker();

  Gate(Setup setup, String path) {
    this.setup = setup;
    this.path = path;
    type = setup.encoding.equals("xml") ? "application/xml" : setup.encoding.equals("soap12") ? "application/soap+xml" : "text/xml";
  }

  @Override public void service(AxisHttpRequest request, AxisHttpResponse response, MessageContext m) throws HttpException, IOException {
    Header h = request.getFirstHeader("Content-Length");
    long length = h == null ? -1 : Long.parseLong(h.getValue());
    ANNOUNCED.set(length);
    String said = Body.type(request.getContentType());
    if (!request.getMethod().equals("POST")) {
      response.sendError(405, "send POST");
    } else if (!request.getRequestURI().equals(path)) {
      response.sendError(404, "nothing is here; the service is at " + path);
    } else if (!said.equals(type)) {
      response.sendError(415, "no media type \"" + said + "\" here; send " + type);
    } else if (length > setup.bodyLimit) {
      InputStream in = request.getInputStream();
      if (in != null) Body.discard(in, length);
      response.sendError(413, "body is over the limit of " + setup.bodyLimit + " bytes");
    } else {
      serve(request, response, m);
    }
  }

  /** Dispatching reads on in the envelope, so a fault may be the sender's. Without a state Axis2 puts the message, line breaks and all, into the status line. */
  private void serve(AxisHttpRequest request, AxisHttpResponse response, MessageContext m) throws HttpException, IOException {
    try {
      axis2.service(request, response, m);
    } catch (AxisFault e) {
      if (m.getProperty(Constants.HTTP_RESPONSE_STATE) != null) throw e;
      AxisFault fault = e.getCause() instanceof OMException ? Faults.sender(e.getCause(), m) : e;
      m.setProperty(Constants.HTTP_RESPONSE_STATE, String.valueOf(Faults.status(fault, setup.encoding)));
      throw fault;
    }
  }
}

package edgegauge.jaxws;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Receives the request whole, and refuses with HTTP's own status what the JDK's server lets pass: paths that only begin like the service's, other
 * methods and media types, a body over the limit or shorter than announced.
 */
final class Gate extends Filter {
  private final Setup setup;
  private final String path, type;

  Gate(Setup setup, String path) {
    this.setup = setup;
    this.path = path;
    type = setup.encoding.equals("text") ? edgegauge.adapter.Lines.TYPE : setup.encoding.equals("soap12") ? "application/soap+xml" : "text/xml";
  }

  @Override public String description() {
    return "receives requests whole";
  }

  @Override public void doFilter(HttpExchange e, Chain chain) throws IOException {
    byte[] body;
    try {
      String length = e.getRequestHeaders().getFirst("Content-Length");
      body = Body.read(e.getRequestBody(), length == null ? -1 : Long.parseLong(length), setup.bodyLimit);
    } catch (TooLarge t) {
      refuse(e, 413, t.getMessage());
      return;
    } catch (IOException | NumberFormatException t) {
      refuse(e, 400, String.valueOf(t.getMessage()));
      return;
    }
    String said = Body.type(e.getRequestHeaders().getFirst("Content-Type"));
    if (!e.getRequestURI().getPath().equals(path)) {
      refuse(e, 404, "nothing is here; the service is at " + path);
    } else if (!e.getRequestMethod().equals("POST")) {
      refuse(e, 405, "send POST");
    } else if (!said.equals(type)) {
      refuse(e, 415, "no media type \"" + said + "\" here; send " + type);
    } else if (!setup.encoding.equals("text") && doctype(body)) {
      refuse(e, 400, "message has a DTD, or is not XML");
    } else {
      Exchange.mine().begin().in = body.length;
      e.setStreams(new ByteArrayInputStream(body), null);
      chain.doFilter(e);
    }
  }

  /** Metro's parser reads over a DTD and refuses the entities, not the DTD. */
  private static boolean doctype(byte[] body) {
    try {
      Doctype.refuse(body);
      return false;
    } catch (IOException t) {
      return true;
    }
  }

  static void refuse(HttpExchange e, int status, String reason) throws IOException {
    byte[] b = (reason + "\n").getBytes(StandardCharsets.UTF_8);
    e.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
    e.sendResponseHeaders(status, b.length);
    e.getResponseBody().write(b);
    e.close();
  }
}

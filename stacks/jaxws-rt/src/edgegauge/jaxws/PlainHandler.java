package edgegauge.jaxws;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Lines;
import edgegauge.adapter.Message;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.io.IOException;

/** REST with raw text by hand, as the mobile study's server does it. */
final class PlainHandler implements HttpHandler {
  private final Setup setup;
  private final Services services;
  private final ServerLog log;
  private final Lines lines;

  PlainHandler(Setup setup, Services services, ServerLog log) {
    this.setup = setup;
    this.services = services;
    this.log = log;
    lines = new Lines(setup.service);
  }

  @Override public void handle(HttpExchange e) throws IOException {
    Exchange x = Exchange.mine();
    byte[] request = edgegauge.adapter.Body.read(e.getRequestBody(), -1, setup.bodyLimit); // in memory, if Gate stands before
    long t0 = System.nanoTime();
    Message in;
    try {
      in = lines.request(request);
    } catch (IOException | IllegalArgumentException t) {
      Gate.refuse(e, 400, String.valueOf(t.getMessage()));
      return;
    }
    long t1 = System.nanoTime();
    x.deserialization = t1 - t0;
    Message out;
    try {
      out = services.answer(setup.service, in);
    } catch (IOException t) {
      Gate.refuse(e, 500, String.valueOf(t.getMessage()));
      return;
    }
    long t2 = System.nanoTime();
    x.processing = t2 - t1;
    byte[] response = lines.response(out);
    x.serialization = System.nanoTime() - t2;
    x.out = response.length;
    send(e, response);
  }

  private void send(HttpExchange e, byte[] response) throws IOException {
    if (setup.hooks) log.sending();
    try {
      e.getResponseHeaders().set("Content-Type", Lines.TYPE);
      e.sendResponseHeaders(200, response.length == 0 ? -1 : response.length); // to the JDK 0 means that it is not known
      if (response.length > 0) e.getResponseBody().write(response);
    } finally {
      if (setup.hooks) log.sent(Exchange.mine());
      e.close();
    }
  }
}

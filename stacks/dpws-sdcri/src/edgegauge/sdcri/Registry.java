package edgegauge.sdcri;

import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.google.common.util.concurrent.Service;
import com.google.common.collect.ListMultimap;
import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.somda.sdc.dpws.CommunicationLogContext;
import org.somda.sdc.dpws.http.HttpException;
import org.somda.sdc.dpws.http.HttpHandler;
import org.somda.sdc.dpws.http.HttpServerRegistry;
import org.somda.sdc.dpws.http.jetty.JettyHttpServerRegistry;
import org.somda.sdc.dpws.soap.CommunicationContext;
import org.somda.sdc.dpws.soap.HttpApplicationInfo;

/**
 * SDCri's HTTP servers with a hook before the hosted service: the request is read whole before SDCri sees it, and recorded when the response is handed to
 * the socket. It also refuses what SDCri would take: other media types, bodies over the limit, document types.
 */
@Singleton
final class Registry implements HttpServerRegistry {
  private final JettyHttpServerRegistry jetty;
  private final Setup setup;
  private final ThreadLocal<Boolean> invoked = ThreadLocal.withInitial(() -> false);
  private volatile ServerLog log;
  private volatile String service; // where the hosted service is

  @Inject Registry(JettyHttpServerRegistry jetty, Setup setup) {
    this.jetty = jetty;
    this.setup = setup;
  }

  /** Records go into log from now on. */
  void record(ServerLog log) {
    this.log = log;
  }

  String service() {
    return service;
  }

  /** Says that this thread's request was one for the service, and was answered. */
  void invoked() {
    invoked.set(true);
  }

  @Override public String initHttpServer(String at, boolean reuse) {
    return jetty.initHttpServer(setup.port > 0 && at.endsWith(":0") ? at.substring(0, at.length() - 1) + setup.port : at, reuse);
  }

  @Override public String registerContext(String at, boolean reuse, String path, String type, CommunicationLogContext c, HttpHandler handler) {
    return registerContext(at, reuse, path, type, c, handler, null);
  }

  @Override public String registerContext(String at, boolean reuse, String path, String type, CommunicationLogContext c, HttpHandler handler, UnaryOperator<Void> after) {
    if (log == null || after != null || !path.endsWith("/" + setup.service.name)) return jetty.registerContext(at, reuse, path, type, c, handler, after);
    service = at.endsWith(path) ? at : at + path; // SDCri hands over the whole address
    return jetty.registerContext(at, reuse, path, type, c, (in, out, context) -> handle(handler, in, out, context), nothing -> {
      if (invoked.get()) log.sent(Exchange.mine());
      return nothing;
    });
  }

  private void handle(HttpHandler sdcri, InputStream in, OutputStream out, CommunicationContext context) throws HttpException {
    invoked.set(false);
    byte[] body = gate(in, context);
    Exchange x = Exchange.mine().begin();
    x.in = body.length;
    sdcri.handle(new ByteArrayInputStream(body), out, context);
    if (invoked.get()) log.sending();
  }

  private byte[] gate(InputStream in, CommunicationContext context) throws HttpException {
    ListMultimap<String, String> headers = ((HttpApplicationInfo) context.getApplicationInfo()).getHeaders();
    String type = "", length = "-1";
    for (java.util.Map.Entry<String, String> h : headers.entries()) {
      if (h.getKey().equalsIgnoreCase("content-type")) type = h.getValue();
      if (h.getKey().equalsIgnoreCase("content-length")) length = h.getValue();
    }
    try {
      byte[] body = Body.read(in, Long.parseLong(length), setup.bodyLimit);
      if (!type.split(";")[0].trim().equalsIgnoreCase("application/soap+xml")) throw new HttpException(415, "send application/soap+xml");
      // JAXB would read it, and what it refers to.
      if (new String(body, StandardCharsets.ISO_8859_1).contains("<!DOCTYPE")) throw new HttpException(400, "a document type is not taken");
      return body;
    } catch (TooLarge e) {
      throw new HttpException(413, e.getMessage());
    } catch (IOException | NumberFormatException e) {
      throw new HttpException(400, String.valueOf(e.getMessage()));
    }
  }

  @Override public void unregisterContext(String at, String path) {
    jetty.unregisterContext(at, path);
  }

  @Override public Service startAsync() {
    jetty.startAsync();
    return this;
  }

  @Override public boolean isRunning() {
    return jetty.isRunning();
  }

  @Override public State state() {
    return jetty.state();
  }

  @Override public Service stopAsync() {
    jetty.stopAsync();
    return this;
  }

  @Override public void awaitRunning() {
    jetty.awaitRunning();
  }

  @Override public void awaitRunning(Duration d) throws TimeoutException {
    jetty.awaitRunning(d);
  }

  @Override public void awaitRunning(long n, TimeUnit u) throws TimeoutException {
    jetty.awaitRunning(n, u);
  }

  @Override public void awaitTerminated() {
    jetty.awaitTerminated();
  }

  @Override public void awaitTerminated(Duration d) throws TimeoutException {
    jetty.awaitTerminated(d);
  }

  @Override public void awaitTerminated(long n, TimeUnit u) throws TimeoutException {
    jetty.awaitTerminated(n, u);
  }

  @Override public Throwable failureCause() {
    return jetty.failureCause();
  }

  @Override public void addListener(Listener l, Executor e) {
    jetty.addListener(l, e);
  }
}

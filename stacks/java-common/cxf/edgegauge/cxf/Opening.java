package edgegauge.cxf;

import edgegauge.adapter.Exchange;
import java.io.IOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.apache.cxf.interceptor.InterceptorProvider;
import org.apache.cxf.interceptor.MessageSenderInterceptor;
import org.apache.cxf.message.Message;
import org.apache.cxf.phase.AbstractPhaseInterceptor;
import org.apache.cxf.phase.Phase;

/**
 * A clock for the opening of connections by java.net.http, which opens one for a request after it took the request. It asks for the body once it is
 * connected and hands the header to the socket; under TLS 1.3 it judges the server's certificate just before it sends the request. Whichever comes
 * last is "sent"; what lies between the handing over and that is "connection", and so is the time that CXF takes to make a client of java.net.http. For
 * clients that open a connection for each request only.
 */
final class Opening extends AbstractPhaseInterceptor<Message> {
  private volatile Exchange x; // the one under way: a client has one at a time

  private Opening() {
    super(Phase.PRE_STREAM); // CXF has chosen its client
  }

  /** Watches a client. */
  static Opening of(InterceptorProvider client) {
    Opening o = new Opening();
    client.getOutInterceptors().add(new Making(true));
    client.getOutInterceptors().add(new Making(false));
    client.getOutInterceptors().add(o);
    return o;
  }

  /** Before and after the interceptor in which CXF makes a client of java.net.http, if it has none. */
  private static final class Making extends AbstractPhaseInterceptor<Message> {
    private static final String BEGUN = "edgegauge.making";

    private final boolean begins;

    Making(boolean begins) {
      super(begins ? "making" : "made", Phase.PREPARE_SEND);
      this.begins = begins;
      if (begins) addBefore(MessageSenderInterceptor.class.getName());
      else addAfter(MessageSenderInterceptor.class.getName());
    }

    @Override public void handleMessage(Message m) {
      if (begins) m.put(BEGUN, System.nanoTime());
      else Exchange.mine().connection += System.nanoTime() - (Long) m.get(BEGUN);
    }
  }

  @Override public void handleMessage(Message m) {
    HttpClient real = m.get(HttpClient.class);
    if (real == null) return;
    x = Exchange.mine();
    m.put(HttpClient.class, new Client(real));
  }

  private void opened() {
    Exchange now = x;
    long t = System.nanoTime();
    now.connection += t - now.sent;
    now.sent = t;
  }

  /** Trusts as the others do, and reads the clock. */
  TrustManager[] clocked(TrustManager[] trust) {
    TrustManager[] all = trust.clone();
    for (int i = 0; i < all.length; i++)
      if (all[i] instanceof X509ExtendedTrustManager) all[i] = new Trust((X509ExtendedTrustManager) all[i]);
    return all;
  }

  private final class Trust extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager real;

    Trust(X509ExtendedTrustManager real) {
      this.real = real;
    }

    @Override public void checkServerTrusted(X509Certificate[] chain, String auth, SSLEngine e) throws CertificateException {
      real.checkServerTrusted(chain, auth, e);
      opened();
    }

    @Override public void checkServerTrusted(X509Certificate[] chain, String auth, Socket s) throws CertificateException {
      real.checkServerTrusted(chain, auth, s);
    }

    @Override public void checkServerTrusted(X509Certificate[] chain, String auth) throws CertificateException {
      real.checkServerTrusted(chain, auth);
    }

    @Override public void checkClientTrusted(X509Certificate[] chain, String auth, SSLEngine e) throws CertificateException {
      real.checkClientTrusted(chain, auth, e);
    }

    @Override public void checkClientTrusted(X509Certificate[] chain, String auth, Socket s) throws CertificateException {
      real.checkClientTrusted(chain, auth, s);
    }

    @Override public void checkClientTrusted(X509Certificate[] chain, String auth) throws CertificateException {
      real.checkClientTrusted(chain, auth);
    }

    @Override public X509Certificate[] getAcceptedIssuers() {
      return real.getAcceptedIssuers();
    }
  }

  private final class Body implements HttpRequest.BodyPublisher {
    private final HttpRequest.BodyPublisher real;

    Body(HttpRequest.BodyPublisher real) {
      this.real = real;
    }

    @Override public long contentLength() {
      return real.contentLength();
    }

    @Override public void subscribe(Flow.Subscriber<? super ByteBuffer> s) {
      opened();
      real.subscribe(s);
    }
  }

  private final class Request extends HttpRequest {
    private final HttpRequest real;

    Request(HttpRequest real) {
      this.real = real;
    }

    @Override public Optional<BodyPublisher> bodyPublisher() {
      return real.bodyPublisher().map(Body::new);
    }

    @Override public String method() {
      return real.method();
    }

    @Override public Optional<Duration> timeout() {
      return real.timeout();
    }

    @Override public boolean expectContinue() {
      return real.expectContinue();
    }

    @Override public URI uri() {
      return real.uri();
    }

    @Override public Optional<HttpClient.Version> version() {
      return real.version();
    }

    @Override public HttpHeaders headers() {
      return real.headers();
    }
  }

  private final class Client extends HttpClient {
    private final HttpClient real;

    Client(HttpClient real) {
      this.real = real;
    }

    @Override public <T> HttpResponse<T> send(HttpRequest r, HttpResponse.BodyHandler<T> h) throws IOException, InterruptedException {
      return real.send(new Request(r), h);
    }

    @Override public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest r, HttpResponse.BodyHandler<T> h) {
      return real.sendAsync(new Request(r), h);
    }

    @Override public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest r, HttpResponse.BodyHandler<T> h, HttpResponse.PushPromiseHandler<T> p) {
      return real.sendAsync(new Request(r), h, p);
    }

    @Override public Optional<CookieHandler> cookieHandler() {
      return real.cookieHandler();
    }

    @Override public Optional<Duration> connectTimeout() {
      return real.connectTimeout();
    }

    @Override public Redirect followRedirects() {
      return real.followRedirects();
    }

    @Override public Optional<ProxySelector> proxy() {
      return real.proxy();
    }

    @Override public SSLContext sslContext() {
      return real.sslContext();
    }

    @Override public SSLParameters sslParameters() {
      return real.sslParameters();
    }

    @Override public Optional<Authenticator> authenticator() {
      return real.authenticator();
    }

    @Override public Version version() {
      return real.version();
    }

    @Override public Optional<Executor> executor() {
      return real.executor();
    }
  }
}

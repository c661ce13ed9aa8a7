package edgegauge.adapter;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.ProtocolException;
import java.net.Proxy;
import java.net.URL;
import java.net.URLStreamHandler;
import java.util.List;
import java.util.Map;

/**
 * The JDK's connection, with a clock around connecting. Subtle: the JDK waits a millisecond to see whether a kept connection was closed before it streams
 * a body to it; that, or connecting, is no part of a round trip. If no streaming mode is set the JDK keeps the
 * body and sends it all when it is asked for the response; then the clock is read there.
 *
 * <p>A connection for one request alone is closed by {@link #finish}. Left to itself (http.keepAlive=false) the JDK closes it within the read that gets the end
 * of the answer, so within the round trip. It is one to be kept to the JDK, made with an authenticator of its own: the JDK takes no connection out of its
 * cache that was made with another, so no request of another thread gets it before it is closed.
 */
public final class TimedConnection extends HttpURLConnection {
  private static final Method SET_AUTHENTICATOR; // since Java 9
  private static final ThreadLocal<TimedConnection> LAST = new ThreadLocal<>(); // for one request alone, and not yet closed

  private static volatile boolean perRequest;

  static {
    try {
      SET_AUTHENTICATOR = HttpURLConnection.class.getMethod("setAuthenticator", Authenticator.class);
    } catch (NoSuchMethodException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final HttpURLConnection real;
  private final boolean alone; // for one request
  private boolean streaming, asked;

  public TimedConnection(URL url) throws IOException {
    this(url, bare((HttpURLConnection) url.openConnection()));
  }

  /** Subtle: after {@link #everywhere} a URL opens a timed connection, and within another one connecting would count twice. */
  private static HttpURLConnection bare(HttpURLConnection c) {
    return c instanceof TimedConnection ? ((TimedConnection) c).real : c;
  }

  private TimedConnection(URL url, HttpURLConnection real) {
    super(url);
    this.real = real;
    alone = perRequest;
    if (!alone) return;
    try {
      SET_AUTHENTICATOR.invoke(real, new Nobody());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
    LAST.set(this);
  }

  /** Knows no password. */
  private static final class Nobody extends Authenticator {}

  /** Tells the JDK and this class how clients are to connect. Without hooks nobody stands between the framework and the JDK, which then closes by itself. */
  public static void settings(Setup setup) {
    perRequest = setup.hooks && setup.connection.equals("per-request");
    JdkHttp.client(perRequest || setup.connection.equals("keep-alive"));
  }

  /** Closes the connection that this thread made for its last request alone, if it did. */
  public static void finish() {
    TimedConnection c = LAST.get();
    if (c == null) return;
    LAST.remove();
    c.real.disconnect();
  }

  /** Subtle: the JDK disconnects nothing once the stream is closed, so that waits for finish. */
  private InputStream open(InputStream in) {
    if (!alone || in == null) return in;
    return new FilterInputStream(in) {
      @Override public void close() {}
    };
  }

  /** From now on every http URL opens a timed connection: for clients that let nobody put one in. Once in a program. */
  public static void everywhere() throws IOException {
    URL jdk = new URL("http://localhost/"); // keeps the JDK's own handler
    URL.setURLStreamHandlerFactory(protocol -> !protocol.equals("http") ? null : new URLStreamHandler() {
      @Override protected HttpURLConnection openConnection(URL u) throws IOException {
        return new TimedConnection(u, (HttpURLConnection) new URL(jdk, u.toExternalForm()).openConnection());
      }

      @Override protected HttpURLConnection openConnection(URL u, Proxy p) throws IOException {
        return new TimedConnection(u, (HttpURLConnection) new URL(jdk, u.toExternalForm()).openConnection(p));
      }

      @Override protected int getDefaultPort() {
        return 80;
      }
    });
  }

  @Override public OutputStream getOutputStream() throws IOException {
    connect();
    if (streaming) Exchange.mine().sent = System.nanoTime();
    return real.getOutputStream();
  }

  /** The first question about the response sends what was kept. */
  private void sending() throws IOException {
    if (streaming || asked) return;
    asked = true;
    connect();
    Exchange.mine().sent = System.nanoTime();
  }

  @Override public void connect() throws IOException {
    long t0 = System.nanoTime();
    try {
      real.connect();
    } finally {
      Exchange.mine().connection += System.nanoTime() - t0;
    }
  }

  @Override public void disconnect() {
    real.disconnect();
  }

  @Override public boolean usingProxy() {
    return real.usingProxy();
  }

  @Override public void setRequestMethod(String method) throws ProtocolException {
    real.setRequestMethod(method);
  }

  @Override public String getRequestMethod() {
    return real.getRequestMethod();
  }

  @Override public void setRequestProperty(String key, String value) {
    real.setRequestProperty(key, value);
  }

  @Override public void addRequestProperty(String key, String value) {
    real.addRequestProperty(key, value);
  }

  @Override public void setDoOutput(boolean on) {
    real.setDoOutput(on);
  }

  @Override public void setInstanceFollowRedirects(boolean on) {
    real.setInstanceFollowRedirects(on);
  }

  @Override public void setConnectTimeout(int ms) {
    real.setConnectTimeout(ms);
  }

  @Override public void setReadTimeout(int ms) {
    real.setReadTimeout(ms);
  }

  @Override public void setFixedLengthStreamingMode(int length) {
    streaming = true;
    real.setFixedLengthStreamingMode(length);
  }

  @Override public void setFixedLengthStreamingMode(long length) {
    streaming = true;
    real.setFixedLengthStreamingMode(length);
  }

  @Override public void setChunkedStreamingMode(int length) {
    streaming = true;
    real.setChunkedStreamingMode(length);
  }

  @Override public int getResponseCode() throws IOException {
    sending();
    return real.getResponseCode();
  }

  @Override public String getResponseMessage() throws IOException {
    return real.getResponseMessage();
  }

  @Override public Map<String, List<String>> getHeaderFields() {
    return real.getHeaderFields();
  }

  @Override public String getHeaderField(String name) {
    return real.getHeaderField(name);
  }

  @Override public String getHeaderField(int n) {
    return real.getHeaderField(n);
  }

  @Override public String getHeaderFieldKey(int n) {
    return real.getHeaderFieldKey(n);
  }

  @Override public Map<String, List<String>> getRequestProperties() {
    return real.getRequestProperties();
  }

  @Override public String getRequestProperty(String key) {
    return real.getRequestProperty(key);
  }

  @Override public int getContentLength() {
    return real.getContentLength();
  }

  @Override public long getContentLengthLong() {
    return real.getContentLengthLong();
  }

  @Override public InputStream getInputStream() throws IOException {
    sending();
    return open(real.getInputStream());
  }

  @Override public InputStream getErrorStream() {
    return open(real.getErrorStream());
  }
}

package edgegauge.jersey;

import edgegauge.adapter.Exchange;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.ProtocolException;
import java.net.URL;
import java.util.List;
import java.util.Map;

/**
 * The JDK's connection, with a clock between connecting and the first byte of the request. Subtle: asked for its stream, the JDK first waits a
 * millisecond to see whether a kept connection was closed; that, or connecting, is no part of a round trip.
 */
final class TimedConnection extends HttpURLConnection {
  private final HttpURLConnection real;

  TimedConnection(URL url) throws IOException {
    super(url);
    real = (HttpURLConnection) url.openConnection();
  }

  @Override public OutputStream getOutputStream() throws IOException {
    real.connect();
    Exchange.mine().sent = System.nanoTime();
    return real.getOutputStream();
  }

  @Override public void connect() throws IOException {
    real.connect();
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
    real.setFixedLengthStreamingMode(length);
  }

  @Override public void setChunkedStreamingMode(int length) {
    real.setChunkedStreamingMode(length);
  }

  @Override public int getResponseCode() throws IOException {
    return real.getResponseCode();
  }

  @Override public String getResponseMessage() throws IOException {
    return real.getResponseMessage();
  }

  @Override public Map<String, List<String>> getHeaderFields() {
    return real.getHeaderFields();
  }

  @Override public int getContentLength() {
    return real.getContentLength();
  }

  @Override public InputStream getInputStream() throws IOException {
    return real.getInputStream();
  }

  @Override public InputStream getErrorStream() {
    return real.getErrorStream();
  }
}

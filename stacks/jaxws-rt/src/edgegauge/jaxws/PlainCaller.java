package edgegauge.jaxws;

import edgegauge.adapter.Body;
import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Lines;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TimedConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** REST with raw text on the JDK's HTTP client, by hand. */
final class PlainCaller implements Caller {
  private final Setup setup;
  private final URL url;
  private final Lines lines;

  PlainCaller(Setup setup) throws IOException {
    this.setup = setup;
    url = new URL(setup.url);
    lines = new Lines(setup.service);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    long t0 = System.nanoTime();
    byte[] request = lines.request(m);
    x.serialization = System.nanoTime() - t0;
    x.out = request.length;
    byte[] response = exchange(request, x);
    x.in = response.length;
    t0 = System.nanoTime();
    Message answer = lines.response(response);
    x.deserialization = System.nanoTime() - t0;
    return answer;
  }

  private byte[] exchange(byte[] request, Exchange x) throws IOException {
    HttpURLConnection c = setup.hooks ? new TimedConnection(url) : (HttpURLConnection) url.openConnection();
    c.setRequestMethod("POST");
    c.setRequestProperty("Content-Type", Lines.TYPE);
    c.setDoOutput(true);
    c.setConnectTimeout(setup.timeoutMillis());
    c.setReadTimeout(setup.timeoutMillis());
    try (OutputStream out = c.getOutputStream()) {
      out.write(request); // sent by the question for the status
    }
    int status = c.getResponseCode();
    try (InputStream in = status < 400 ? c.getInputStream() : c.getErrorStream()) {
      byte[] b = in == null ? new byte[0] : Body.read(in, c.getContentLengthLong(), Integer.MAX_VALUE);
      x.done = System.nanoTime();
      if (status != 200) throw new IOException("HTTP " + status + " " + new String(b, StandardCharsets.UTF_8));
      return b;
    }
  }

  @Override public void finished() {
    TimedConnection.finish();
  }
}

package lab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import javax.microedition.io.Connector;
import javax.microedition.io.HttpConnection;

/** One POST by MIDP's HttpConnection. */
public final class Http {
  private Http() {}

  /** Returns the response's body; another status than 200 is an exception. SOAP faults come with 500 and are read as bodies. */
  public static byte[] post(String url, String type, String action, boolean close, byte[] body) throws IOException {
    HttpConnection c = (HttpConnection) Connector.open(url, Connector.READ_WRITE, true);
    try {
      c.setRequestMethod(HttpConnection.POST);
      c.setRequestProperty("Content-Type", type);
      if (action != null) c.setRequestProperty("SOAPAction", action);
      if (close) c.setRequestProperty("Connection", "close");
      OutputStream out = c.openOutputStream();
      out.write(body);
      out.close();
      int status = c.getResponseCode();
      byte[] answer = read(c.openInputStream(), (int) c.getLength());
      if (status != 200 && (status != 500 || action == null)) throw new IOException("HTTP " + status + " " + Text.of(answer, 0, answer.length));
      return answer;
    } finally {
      c.close();
    }
  }

  private static byte[] read(InputStream in, int length) throws IOException {
    byte[] b = new byte[length >= 0 ? length : 1024];
    int n = 0;
    for (;;) {
      if (n == b.length) {
        if (n == length) break;
        byte[] bigger = new byte[2 * n];
        for (int i = 0; i < n; i++) bigger[i] = b[i];
        b = bigger;
      }
      int more = in.read(b, n, b.length - n);
      if (more < 0) break;
      n += more;
    }
    if (length < 0 || n == length) while (in.read() >= 0) {} // the connection is kept only if its end was seen
    in.close();
    if (n == b.length) return b;
    if (n < length) throw new IOException("the response is cut: " + n + " of " + length + " bytes");
    byte[] exact = new byte[n];
    for (int i = 0; i < n; i++) exact[i] = b[i];
    return exact;
  }
}

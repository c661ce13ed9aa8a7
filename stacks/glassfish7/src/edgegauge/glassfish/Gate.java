package edgegauge.glassfish;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Lines;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.annotation.WebFilter;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Locale;

/** Receives the request whole, and refuses with HTTP's own status what is not for the service: before JAX-WS or the plain servlet see it. */
@WebFilter("/*")
public final class Gate extends HttpFilter {
  private static final long serialVersionUID = 1;

  @Override protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws IOException, ServletException {
    Setup setup = Hosted.setup;
    byte[] body;
    try {
      body = Body.read(request.getInputStream(), request.getContentLengthLong(), setup.bodyLimit);
    } catch (TooLarge e) {
      refuse(response, 413, e.getMessage());
      return;
    } catch (IOException e) {
      refuse(response, 400, String.valueOf(e.getMessage()));
      return;
    }
    String type = type(request);
    if (!request.getRequestURI().equals(GlassFishStack.path(setup))) refuse(response, 404, "nothing is here; the service is at " + GlassFishStack.path(setup));
    else if (!request.getMethod().equals("POST")) refuse(response, 405, "send POST");
    else if (!type.equals(wanted(setup))) refuse(response, 415, "no media type \"" + type + "\" here; send " + wanted(setup));
    else if (!setup.encoding.equals("text") && doctype(body)) refuse(response, 400, "message has a DTD, or is not XML");
    else {
      Exchange.mine().begin().in = body.length;
      chain.doFilter(new Whole(request, body), response);
    }
  }

  private static String wanted(Setup setup) {
    return setup.encoding.equals("text") ? Lines.TYPE : setup.encoding.equals("soap12") ? "application/soap+xml" : "text/xml";
  }

  private static String type(HttpServletRequest request) {
    String t = request.getContentType();
    return t == null ? "" : t.replaceAll("\\s*;.*", "").trim().toLowerCase(Locale.ROOT);
  }

  private static boolean doctype(byte[] body) {
    try {
      Doctype.refuse(body);
      return false;
    } catch (IOException e) {
      return true;
    }
  }

  static void refuse(HttpServletResponse response, int status, String reason) throws IOException {
    response.setStatus(status);
    response.setContentType("text/plain; charset=utf-8");
    response.getWriter().println(reason);
  }

  /** A request whose body is in memory. */
  private static final class Whole extends HttpServletRequestWrapper {
    private final ByteArrayInputStream body;

    Whole(HttpServletRequest request, byte[] body) {
      super(request);
      this.body = new ByteArrayInputStream(body);
    }

    @Override public ServletInputStream getInputStream() {
      return new ServletInputStream() {
        @Override public int read() {
          return body.read();
        }

        @Override public int read(byte[] b, int off, int len) {
          return body.read(b, off, len);
        }

        @Override public boolean isFinished() {
          return body.available() == 0;
        }

        @Override public boolean isReady() {
          return true;
        }

        @Override public void setReadListener(ReadListener l) {
          throw new UnsupportedOperationException("the body is in memory");
        }
      };
    }
  }
}

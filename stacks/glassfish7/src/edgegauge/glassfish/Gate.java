package edgegauge.glassfish;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Lines;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.annotation.WebFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Servlet 3.0, for ../glassfish3 too. Receives the request whole, and refuses with HTTP's own status what is not for the service: before JAX-WS or the plain servlet see it. */
@WebFilter("/*")
public final class Gate implements Filter {
  @Override public void init(FilterConfig config) {}

  @Override public void destroy() {}

  @Override public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException, ServletException {
    filter((HttpServletRequest) request, (HttpServletResponse) response, chain);
  }

  private static void filter(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws IOException, ServletException {
    Setup setup = Hosted.setup;
    if (!setup.hooks) {
      chain.doFilter(request, response);
      return;
    }
    byte[] body;
    try {
      body = Body.read(request.getInputStream(), request.getContentLength(), setup.bodyLimit);
    } catch (TooLarge e) {
      refuse(response, 413, e.getMessage());
      return;
    } catch (IOException e) {
      refuse(response, 400, String.valueOf(e.getMessage()));
      return;
    }
    String type = Body.type(request.getContentType());
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
    switch (setup.encoding) {
      case "text":
        return Lines.TYPE;
      case "soap12":
        return "application/soap+xml";
      case "xml":
        return "application/xml";
      default:
        return "text/xml";
    }
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
    private final MemoryStream body;

    Whole(HttpServletRequest request, byte[] body) {
      super(request);
      this.body = new MemoryStream(body);
    }

    @Override public ServletInputStream getInputStream() {
      return body;
    }
  }
}

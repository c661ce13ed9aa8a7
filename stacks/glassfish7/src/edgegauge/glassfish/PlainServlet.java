package edgegauge.glassfish;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Lines;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** REST with raw text by hand, as the mobile study's servlet does it. */
@WebServlet("/*")
public final class PlainServlet extends HttpServlet {
  private static final long serialVersionUID = 1;

  private final transient Setup setup = Hosted.setup;
  private final transient Lines lines = new Lines(setup.service);

  @Override protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Exchange x = Exchange.mine();
    byte[] b = setup.hooks ? Body.read(request.getInputStream(), x.in, x.in) // in memory, by Gate
        : Body.read(request.getInputStream(), request.getContentLength(), setup.bodyLimit);
    long t0 = System.nanoTime();
    Message in;
    try {
      in = lines.request(b);
    } catch (IOException | IllegalArgumentException e) {
      Gate.refuse(response, 400, String.valueOf(e.getMessage()));
      return;
    }
    long t1 = System.nanoTime();
    x.deserialization = t1 - t0;
    Message out;
    try {
      out = Hosted.services.answer(setup.service, in);
    } catch (IOException e) {
      Gate.refuse(response, 500, String.valueOf(e.getMessage()));
      return;
    }
    long t2 = System.nanoTime();
    x.processing = t2 - t1;
    byte[] answer = lines.response(out);
    x.serialization = System.nanoTime() - t2;
    x.out = answer.length;
    send(response, answer);
  }

  private void send(HttpServletResponse response, byte[] answer) throws IOException {
    if (setup.hooks) Hosted.log.sending();
    try {
      response.setContentType(Lines.TYPE);
      response.setContentLength(answer.length);
      response.getOutputStream().write(answer);
    } finally {
      if (setup.hooks) Hosted.log.sent(Exchange.mine());
    }
  }
}

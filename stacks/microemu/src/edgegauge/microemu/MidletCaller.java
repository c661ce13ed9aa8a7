package edgegauge.microemu;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import lab.Http;
import lab.Lines;
import lab.Numbers;
import lab.Soap;

/** One request by the MIDlet's code. Between the instants read here the phone's processor is settled, so each phase has the time its bytecodes cost. */
final class MidletCaller implements Caller {
  private final Setup setup;
  private final boolean soap, close;
  private final String element;

  MidletCaller(Setup setup) {
    this.setup = setup;
    soap = setup.encoding.equals("soap11");
    close = setup.connection.equals("per-request");
    element = setup.serviceName.equals("concat") ? "s" : setup.serviceName.equals("sum") ? "x" : "text";
    if (!setup.serviceName.matches("concat|sum|echo")) {
      throw new IllegalArgumentException("no service \"" + setup.serviceName + "\" in the MIDlet; it has concat, sum, echo");
    }
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    double[] numbers = numbers(m);
    long t0 = System.nanoTime();
    Tick.begin();
    byte[] request = request(m, numbers);
    Tick.settle();
    x.serialization = System.nanoTime() - t0;
    x.out = request.length;
    Tick.begin();
    byte[] response = Http.post(setup.url, soap ? "text/xml; charset=utf-8" : "application/octet-stream",
        soap ? "\"urn:edgegauge:services:1/" + setup.serviceName + "\"" : null, close, request);
    Tick.settle();
    x.done = System.nanoTime();
    x.in = response.length;
    t0 = System.nanoTime();
    Tick.begin();
    Message answer = answer(response);
    Tick.settle();
    x.deserialization = System.nanoTime() - t0;
    return answer;
  }

  /** The numbers as the MIDlet has them. */
  private static double[] numbers(Message m) {
    if (m.x == null) return null;
    double[] x = new double[m.x.length];
    for (int i = 0; i < x.length; i++) x[i] = m.x[i] / 100.0;
    return x;
  }

  private byte[] request(Message m, double[] numbers) {
    String[] values = numbers == null ? m.s == null ? new String[] {m.text} : m.s : Numbers.all(numbers);
    return soap ? Soap.request(setup.serviceName, element, values) : Lines.request(values);
  }

  private Message answer(byte[] b) {
    String value = soap ? Soap.answer(setup.serviceName, b) : Lines.answer(b);
    Message m = new Message();
    if (setup.serviceName.equals("sum")) m.total = Math.round(Numbers.of(value) * 100);
    else m.text = value;
    return m;
  }
}

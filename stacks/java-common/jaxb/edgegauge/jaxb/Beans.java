package edgegauge.jaxb;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Beans from and to plain values. What a message lacks is refused with IllegalArgumentException. */
public final class Beans {
  private static final Class<?>[] REQUESTS =
      {Sort.class, Concat.class, Sum.class, Echo.class, Temperature.class, Monitor.class, Io.class, Memory.class};
  private static final Class<?>[] RESPONSES = {SortResponse.class, ConcatResponse.class, SumResponse.class, EchoResponse.class,
      TemperatureResponse.class, MonitorResponse.class, IoResponse.class, MemoryResponse.class};

  private final Service service;
  private final boolean xml;

  /** A repeated field that is not there is empty in XML, and missing in JSON. */
  public Beans(Service service, String encoding) {
    this.service = service;
    xml = !encoding.equals("json");
  }

  /** The class of the service's requests. */
  @SuppressWarnings("unchecked")
  public Class<? extends Bean> requestClass() {
    return (Class<? extends Bean>) REQUESTS[service.ordinal()];
  }

  /** The class of the service's responses. */
  @SuppressWarnings("unchecked")
  public Class<? extends Bean> responseClass() {
    return (Class<? extends Bean>) RESPONSES[service.ordinal()];
  }

  /** Every class, for a JAXB context. */
  public static Class<?>[] classes() {
    Class<?>[] all = Arrays.copyOf(REQUESTS, REQUESTS.length + RESPONSES.length);
    System.arraycopy(RESPONSES, 0, all, REQUESTS.length, RESPONSES.length);
    return all;
  }

  public Bean request(Message m) {
    switch (service) {
      case SORT: {
        Sort b = new Sort();
        b.n = boxes(m.n);
        return b;
      }
      case CONCAT: {
        Concat b = new Concat();
        b.s = Arrays.asList(m.s);
        return b;
      }
      case SUM: {
        Sum b = new Sum();
        b.x = new ArrayList<>(m.x.length);
        for (long k : m.x) b.x.add(Decimal.big(k));
        return b;
      }
      case ECHO: {
        Echo b = new Echo();
        b.text = m.text;
        return b;
      }
      case TEMPERATURE:
        return new Temperature();
      case MONITOR: {
        Monitor b = new Monitor();
        b.id = m.id;
        b.status = (long) m.status;
        b.sequence = (long) m.sequence;
        b.temperature = Decimal.big(m.temperature);
        b.pressure = Decimal.big(m.pressure);
        b.running = m.running;
        b.message = m.message;
        return b;
      }
      case IO: {
        Io b = new Io();
        b.data = m.data;
        return b;
      }
      default: {
        Memory b = new Memory();
        b.data = m.data;
        return b;
      }
    }
  }

  public Message values(Object bean) {
    Message m = new Message();
    if (!requestClass().isInstance(bean)) throw new IllegalArgumentException("message is not " + service.name);
    switch (service) {
      case SORT:
        m.n = ints(list("n", ((Sort) bean).n));
        break;
      case CONCAT:
        m.s = list("s", ((Concat) bean).s).toArray(new String[0]);
        for (String s : m.s) need("s", s);
        break;
      case SUM: {
        List<BigDecimal> x = list("x", ((Sum) bean).x);
        m.x = new long[x.size()];
        for (int i = 0; i < m.x.length; i++) m.x[i] = hundredths("x", x.get(i));
        break;
      }
      case ECHO:
        m.text = need("text", ((Echo) bean).text);
        break;
      case TEMPERATURE:
        break;
      case MONITOR: {
        Monitor b = (Monitor) bean;
        m.id = need("id", b.id);
        m.status = integer("status", b.status);
        m.sequence = integer("sequence", b.sequence);
        m.temperature = hundredths("temperature", b.temperature);
        m.pressure = hundredths("pressure", b.pressure);
        m.running = need("running", b.running);
        m.message = need("message", b.message);
        break;
      }
      case IO:
        m.data = need("data", ((Io) bean).data);
        break;
      default:
        m.data = need("data", ((Memory) bean).data);
    }
    return m;
  }

  public Bean response(Message m) {
    switch (service) {
      case SORT: {
        SortResponse b = new SortResponse();
        b.n = boxes(m.n);
        return b;
      }
      case CONCAT: {
        ConcatResponse b = new ConcatResponse();
        b.text = m.text;
        return b;
      }
      case SUM: {
        SumResponse b = new SumResponse();
        b.total = Decimal.big(m.total);
        return b;
      }
      case ECHO: {
        EchoResponse b = new EchoResponse();
        b.text = m.text;
        return b;
      }
      case TEMPERATURE: {
        TemperatureResponse b = new TemperatureResponse();
        b.celsius = Decimal.big(m.celsius);
        b.time = m.time;
        return b;
      }
      case MONITOR: {
        MonitorResponse b = new MonitorResponse();
        b.accepted = m.accepted;
        b.sequence = (long) m.sequence;
        return b;
      }
      case IO: {
        IoResponse b = new IoResponse();
        b.digest = m.digest;
        return b;
      }
      default: {
        MemoryResponse b = new MemoryResponse();
        b.digest = m.digest;
        return b;
      }
    }
  }

  public Message answer(Object bean) {
    Message m = new Message();
    if (!responseClass().isInstance(bean)) throw new IllegalArgumentException("answer is not " + service.name + "Response");
    switch (service) {
      case SORT:
        m.n = ints(list("n", ((SortResponse) bean).n));
        break;
      case CONCAT:
        m.text = need("text", ((ConcatResponse) bean).text);
        break;
      case SUM:
        m.total = hundredths("total", ((SumResponse) bean).total);
        break;
      case ECHO:
        m.text = need("text", ((EchoResponse) bean).text);
        break;
      case TEMPERATURE: {
        TemperatureResponse b = (TemperatureResponse) bean;
        m.celsius = hundredths("celsius", b.celsius);
        m.time = need("time", b.time);
        break;
      }
      case MONITOR: {
        MonitorResponse b = (MonitorResponse) bean;
        m.accepted = need("accepted", b.accepted);
        m.sequence = integer("sequence", b.sequence);
        break;
      }
      case IO:
        m.digest = need("digest", ((IoResponse) bean).digest);
        break;
      default:
        m.digest = need("digest", ((MemoryResponse) bean).digest);
    }
    return m;
  }

  private static <T> T need(String field, T value) {
    if (value == null) throw new IllegalArgumentException("message has no " + field);
    return value;
  }

  private <T> List<T> list(String field, List<T> l) {
    return l == null && xml ? Collections.<T>emptyList() : need(field, l);
  }

  private static long hundredths(String field, BigDecimal d) {
    return Decimal.hundredths(need(field, d));
  }

  private static List<Long> boxes(int[] n) {
    List<Long> l = new ArrayList<>(n.length);
    for (int i : n) l.add((long) i);
    return l;
  }

  private static int[] ints(List<Long> l) {
    int[] n = new int[l.size()];
    int i = 0;
    for (Long v : l) n[i++] = integer("n", v);
    return n;
  }

  private static int integer(String field, Long v) {
    int i = (int) (long) need(field, v);
    if (i != v) throw new IllegalArgumentException(field + " " + v + " is out of range");
    return i;
  }
}

package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.axis2.adb.*;
import java.io.IOException;
import org.apache.axiom.om.OMXMLParserWrapper;

/** The skeleton that WSDL2Java made, filled in. One object serves all threads; what belongs to a request is the thread's. */
final class Skeleton extends ServicesSkeleton {
  private static final class Mark {
    OMXMLParserWrapper builder; // of the element that is bound
    long at;
  }

  private final Service service;
  private final boolean hooks;
  private final Services services;
  private final ThreadLocal<Mark> marks = ThreadLocal.withInitial(Mark::new);

  Skeleton(Setup setup, Services services) {
    service = setup.service;
    hooks = setup.hooks;
    this.services = services;
  }

  /** Binding begins. */
  void begin(OMXMLParserWrapper builder) {
    Mark mark = marks.get();
    mark.builder = builder;
    mark.at = System.nanoTime();
  }

  /** Whether the request was read without a fault. */
  boolean bound() {
    return marks.get().builder == null;
  }

  /** When the answer was there. */
  long answered() {
    return marks.get().at;
  }

  private Object answer(Object bean) {
    if (!hooks) return unhooked(bean);
    Mark mark = marks.get();
    Tail.read(mark.builder);
    Exchange x = Exchange.mine();
    long t = System.nanoTime();
    x.deserialization += t - mark.at;
    try {
      Message in = Beans.values(service, bean);
      mark.builder = null;
      return Beans.response(service, services.answer(service, in));
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e); // the skeleton's methods declare nothing; Axis2 makes it a fault
    } finally {
      mark.at = System.nanoTime();
      x.processing = mark.at - t;
    }
  }

  private Object unhooked(Object bean) {
    try {
      return Beans.response(service, services.answer(service, Beans.values(service, bean)));
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  @Override public SortResponse sort(Sort in) {
    return (SortResponse) answer(in);
  }

  @Override public ConcatResponse concat(Concat in) {
    return (ConcatResponse) answer(in);
  }

  @Override public SumResponse sum(Sum in) {
    return (SumResponse) answer(in);
  }

  @Override public EchoResponse echo(Echo in) {
    return (EchoResponse) answer(in);
  }

  @Override public TemperatureResponse temperature(Temperature in) {
    return (TemperatureResponse) answer(in);
  }

  @Override public MonitorResponse monitor(Monitor in) {
    return (MonitorResponse) answer(in);
  }

  @Override public IoResponse io(Io in) {
    return (IoResponse) answer(in);
  }

  @Override public MemoryResponse memory(Memory in) {
    return (MemoryResponse) answer(in);
  }
}

package edgegauge.axis2;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import edgegauge.axis2.adb.*;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import javax.activation.DataHandler;
import javax.xml.stream.XMLStreamReader;
import org.apache.axiom.attachments.ByteArrayDataSource;
import org.apache.axis2.databinding.ADBBean;

/** The beans that WSDL2Java made, from and to plain values. */
final class Beans {
  private Beans() {}

  static ADBBean request(Service service, Message m) {
    switch (service) {
      case SORT: {
        Sort b = new Sort();
        b.setN(m.n);
        return b;
      }
      case CONCAT: {
        Concat b = new Concat();
        b.setS(m.s);
        return b;
      }
      case SUM: {
        Sum b = new Sum();
        BigDecimal[] x = new BigDecimal[m.x.length];
        for (int i = 0; i < x.length; i++) x[i] = Decimal.big(m.x[i]);
        b.setX(x);
        return b;
      }
      case ECHO: {
        Echo b = new Echo();
        b.setText(m.text);
        return b;
      }
      case TEMPERATURE:
        return new Temperature();
      case MONITOR: {
        Monitor b = new Monitor();
        b.setId(m.id);
        b.setStatus(m.status);
        b.setSequence(m.sequence);
        b.setTemperature(Decimal.big(m.temperature));
        b.setPressure(Decimal.big(m.pressure));
        b.setRunning(m.running);
        b.setMessage(m.message);
        return b;
      }
      case IO: {
        Io b = new Io();
        b.setData(handler(m.data));
        return b;
      }
      default: {
        Memory b = new Memory();
        b.setData(handler(m.data));
        return b;
      }
    }
  }

  /** Throws IllegalArgumentException for a decimal out of range. */
  static Message values(Service service, Object bean) throws IOException {
    Message m = new Message();
    switch (service) {
      case SORT: {
        int[] n = ((Sort) bean).getN();
        m.n = n == null ? new int[0] : n;
        break;
      }
      case CONCAT: {
        String[] s = ((Concat) bean).getS();
        m.s = s == null ? new String[0] : s;
        break;
      }
      case SUM: {
        BigDecimal[] x = ((Sum) bean).getX();
        m.x = new long[x == null ? 0 : x.length];
        for (int i = 0; i < m.x.length; i++) m.x[i] = Decimal.hundredths(x[i]);
        break;
      }
      case ECHO:
        m.text = ((Echo) bean).getText();
        break;
      case TEMPERATURE:
        break;
      case MONITOR: {
        Monitor b = (Monitor) bean;
        m.id = b.getId();
        m.status = b.getStatus();
        m.sequence = b.getSequence();
        m.temperature = Decimal.hundredths(b.getTemperature());
        m.pressure = Decimal.hundredths(b.getPressure());
        m.running = b.getRunning();
        m.message = b.getMessage();
        break;
      }
      case IO:
        m.data = bytes(((Io) bean).getData());
        break;
      default:
        m.data = bytes(((Memory) bean).getData());
    }
    return m;
  }

  static ADBBean response(Service service, Message m) {
    switch (service) {
      case SORT: {
        SortResponse b = new SortResponse();
        b.setN(m.n);
        return b;
      }
      case CONCAT: {
        ConcatResponse b = new ConcatResponse();
        b.setText(m.text);
        return b;
      }
      case SUM: {
        SumResponse b = new SumResponse();
        b.setTotal(Decimal.big(m.total));
        return b;
      }
      case ECHO: {
        EchoResponse b = new EchoResponse();
        b.setText(m.text);
        return b;
      }
      case TEMPERATURE: {
        TemperatureResponse b = new TemperatureResponse();
        b.setCelsius(Decimal.big(m.celsius));
        b.setTime(m.time);
        return b;
      }
      case MONITOR: {
        MonitorResponse b = new MonitorResponse();
        b.setAccepted(m.accepted);
        b.setSequence(m.sequence);
        return b;
      }
      case IO: {
        IoResponse b = new IoResponse();
        b.setDigest(handler(m.digest));
        return b;
      }
      default: {
        MemoryResponse b = new MemoryResponse();
        b.setDigest(handler(m.digest));
        return b;
      }
    }
  }

  /** Binds a response, as the stub that WSDL2Java makes does. */
  static Object parse(Service service, XMLStreamReader r) throws Exception {
    switch (service) {
      case SORT:
        return SortResponse.Factory.parse(r);
      case CONCAT:
        return ConcatResponse.Factory.parse(r);
      case SUM:
        return SumResponse.Factory.parse(r);
      case ECHO:
        return EchoResponse.Factory.parse(r);
      case TEMPERATURE:
        return TemperatureResponse.Factory.parse(r);
      case MONITOR:
        return MonitorResponse.Factory.parse(r);
      case IO:
        return IoResponse.Factory.parse(r);
      default:
        return MemoryResponse.Factory.parse(r);
    }
  }

  static Message answer(Service service, Object bean) throws IOException {
    Message m = new Message();
    switch (service) {
      case SORT: {
        int[] n = ((SortResponse) bean).getN();
        m.n = n == null ? new int[0] : n;
        break;
      }
      case CONCAT:
        m.text = ((ConcatResponse) bean).getText();
        break;
      case SUM:
        m.total = Decimal.hundredths(((SumResponse) bean).getTotal());
        break;
      case ECHO:
        m.text = ((EchoResponse) bean).getText();
        break;
      case TEMPERATURE: {
        TemperatureResponse b = (TemperatureResponse) bean;
        m.celsius = Decimal.hundredths(b.getCelsius());
        m.time = b.getTime();
        break;
      }
      case MONITOR: {
        MonitorResponse b = (MonitorResponse) bean;
        m.accepted = b.getAccepted();
        m.sequence = b.getSequence();
        break;
      }
      case IO:
        m.digest = bytes(((IoResponse) bean).getDigest());
        break;
      default:
        m.digest = bytes(((MemoryResponse) bean).getDigest());
    }
    return m;
  }

  private static DataHandler handler(byte[] b) {
    return new DataHandler(new ByteArrayDataSource(b));
  }

  private static byte[] bytes(DataHandler h) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    h.writeTo(out);
    return out.toByteArray();
  }
}

package edgegauge.adapter;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import edgegauge.contract.Services;
import java.util.List;

/**
 * Plain values to protobuf bytes and back, by the classes protoc made of contract/services.proto. Both ends are in the phases: protobuf-java turns
 * strings into bytes, and bytes into strings, only when it must, so building and reading out the message cannot be left outside the clock.
 * Compiles with protobuf-java 2.6 and 3.
 */
public final class Protobuf {
  private final Service service;

  public Protobuf(Service service) {
    this.service = service;
  }

  public byte[] request(Message m) {
    switch (service) {
      case SORT: {
        Services.Sort.Builder b = Services.Sort.newBuilder();
        for (int n : m.n) b.addN(n);
        return bytes(b.build());
      }
      case CONCAT: {
        Services.Concat.Builder b = Services.Concat.newBuilder();
        for (String s : m.s) b.addS(s);
        return bytes(b.build());
      }
      case SUM: {
        Services.Sum.Builder b = Services.Sum.newBuilder();
        for (long k : m.x) b.addX(Decimal.real(k));
        return bytes(b.build());
      }
      case ECHO:
        return bytes(Services.Echo.newBuilder().setText(m.text).build());
      case TEMPERATURE:
        return bytes(Services.Temperature.getDefaultInstance());
      case MONITOR:
        return bytes(Services.Monitor.newBuilder().setId(m.id).setStatus(m.status).setSequence(m.sequence)
            .setTemperature(Decimal.real(m.temperature)).setPressure(Decimal.real(m.pressure)).setRunning(m.running).setMessage(m.message).build());
      case IO:
        return bytes(Services.Io.newBuilder().setData(ByteString.copyFrom(m.data)).build());
      default:
        return bytes(Services.Memory.newBuilder().setData(ByteString.copyFrom(m.data)).build());
    }
  }

  /** Refuses what is cut, has trailing bytes, or numbers that are no decimals. */
  public Message request(byte[] b) throws InvalidProtocolBufferException {
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = ints(Services.Sort.parseFrom(b).getNList());
        break;
      case CONCAT:
        m.s = Services.Concat.parseFrom(b).getSList().toArray(new String[0]);
        break;
      case SUM: {
        Services.Sum p = Services.Sum.parseFrom(b);
        m.x = new long[p.getXCount()];
        for (int i = 0; i < m.x.length; i++) m.x[i] = Decimal.hundredths(p.getX(i));
        break;
      }
      case ECHO:
        m.text = Services.Echo.parseFrom(b).getText();
        break;
      case TEMPERATURE:
        Services.Temperature.parseFrom(b);
        break;
      case MONITOR: {
        Services.Monitor p = Services.Monitor.parseFrom(b);
        m.id = p.getId();
        m.status = p.getStatus();
        m.sequence = p.getSequence();
        m.temperature = Decimal.hundredths(p.getTemperature());
        m.pressure = Decimal.hundredths(p.getPressure());
        m.running = p.getRunning();
        m.message = p.getMessage();
        break;
      }
      case IO:
        m.data = Services.Io.parseFrom(b).getData().toByteArray();
        break;
      default:
        m.data = Services.Memory.parseFrom(b).getData().toByteArray();
    }
    return m;
  }

  public byte[] response(Message m) {
    switch (service) {
      case SORT: {
        Services.SortResponse.Builder b = Services.SortResponse.newBuilder();
        for (int n : m.n) b.addN(n);
        return bytes(b.build());
      }
      case CONCAT:
        return bytes(Services.ConcatResponse.newBuilder().setText(m.text).build());
      case SUM:
        return bytes(Services.SumResponse.newBuilder().setTotal(Decimal.real(m.total)).build());
      case ECHO:
        return bytes(Services.EchoResponse.newBuilder().setText(m.text).build());
      case TEMPERATURE:
        return bytes(Services.TemperatureResponse.newBuilder().setCelsius(Decimal.real(m.celsius)).setTime(m.time).build());
      case MONITOR:
        return bytes(Services.MonitorResponse.newBuilder().setAccepted(m.accepted).setSequence(m.sequence).build());
      case IO:
        return bytes(Services.IoResponse.newBuilder().setDigest(ByteString.copyFrom(m.digest)).build());
      default:
        return bytes(Services.MemoryResponse.newBuilder().setDigest(ByteString.copyFrom(m.digest)).build());
    }
  }

  public Message response(byte[] b) throws InvalidProtocolBufferException {
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = ints(Services.SortResponse.parseFrom(b).getNList());
        break;
      case CONCAT:
        m.text = Services.ConcatResponse.parseFrom(b).getText();
        break;
      case SUM:
        m.total = Decimal.hundredths(Services.SumResponse.parseFrom(b).getTotal());
        break;
      case ECHO:
        m.text = Services.EchoResponse.parseFrom(b).getText();
        break;
      case TEMPERATURE: {
        Services.TemperatureResponse p = Services.TemperatureResponse.parseFrom(b);
        m.celsius = Decimal.hundredths(p.getCelsius());
        m.time = p.getTime();
        break;
      }
      case MONITOR: {
        Services.MonitorResponse p = Services.MonitorResponse.parseFrom(b);
        m.accepted = p.getAccepted();
        m.sequence = p.getSequence();
        break;
      }
      case IO:
        m.digest = Services.IoResponse.parseFrom(b).getDigest().toByteArray();
        break;
      default:
        m.digest = Services.MemoryResponse.parseFrom(b).getDigest().toByteArray();
    }
    return m;
  }

  private static byte[] bytes(MessageLite m) {
    return m.toByteArray();
  }

  private static int[] ints(List<Integer> l) {
    int[] n = new int[l.size()];
    for (int i = 0; i < n.length; i++) n[i] = l.get(i);
    return n;
  }
}

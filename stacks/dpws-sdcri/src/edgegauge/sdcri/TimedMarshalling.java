package edgegauge.sdcri;

import com.google.common.util.concurrent.Service;
import com.google.inject.Inject;
import edgegauge.adapter.Exchange;
import jakarta.xml.bind.JAXBException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.somda.sdc.dpws.soap.JaxbSoapMarshalling;
import org.somda.sdc.dpws.soap.SoapMarshalling;
import org.somda.sdc.dpws.soap.model.Envelope;

/**
 * SDCri's marshalling with a clock around it. Both sides hand it memory, never a socket: the server by {@link Registry}, the client by SDCri itself, which
 * reads a response whole and makes a request whole.
 */
final class TimedMarshalling implements SoapMarshalling {
  private final JaxbSoapMarshalling jaxb;

  @Inject TimedMarshalling(JaxbSoapMarshalling jaxb) {
    this.jaxb = jaxb;
  }

  @Override public void marshal(Envelope e, OutputStream out) throws JAXBException {
    Exchange x = Exchange.mine();
    long t0 = System.nanoTime();
    jaxb.marshal(e, out);
    long now = System.nanoTime();
    x.serialization += now - t0;
    if (out instanceof java.io.ByteArrayOutputStream) x.out = ((java.io.ByteArrayOutputStream) out).size();
    x.sent = now; // the client's; its HTTP client comes next
  }

  @Override public Envelope unmarshal(InputStream in) throws JAXBException {
    Exchange x = Exchange.mine();
    long t0 = System.nanoTime();
    x.done = t0;
    try {
      return jaxb.unmarshal(in);
    } finally {
      x.deserialization += System.nanoTime() - t0;
    }
  }

  /** Decoding characters is part of it; counting their bytes is not. */
  @Override public Envelope unmarshal(Reader in) throws JAXBException {
    Exchange x = Exchange.mine();
    long t0 = System.nanoTime();
    x.done = t0;
    StringWriter text = new StringWriter();
    try {
      in.transferTo(text);
    } catch (IOException e) {
      throw new JAXBException(e);
    }
    long t1 = System.nanoTime();
    String s = text.toString();
    x.in = utf8(s);
    long t2 = System.nanoTime();
    try {
      return jaxb.unmarshal(new StringReader(s));
    } finally {
      x.deserialization += System.nanoTime() - t2 + t1 - t0;
    }
  }

  private static long utf8(String s) {
    long n = s.length();
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c >= 0x80) n++;
      if (c >= 0x800 && !Character.isSurrogate(c)) n++;
    }
    return n;
  }

  @Override public Service startAsync() {
    jaxb.startAsync();
    return this;
  }

  @Override public boolean isRunning() {
    return jaxb.isRunning();
  }

  @Override public State state() {
    return jaxb.state();
  }

  @Override public Service stopAsync() {
    jaxb.stopAsync();
    return this;
  }

  @Override public void awaitRunning() {
    jaxb.awaitRunning();
  }

  @Override public void awaitRunning(Duration d) throws TimeoutException {
    jaxb.awaitRunning(d);
  }

  @Override public void awaitRunning(long n, TimeUnit u) throws TimeoutException {
    jaxb.awaitRunning(n, u);
  }

  @Override public void awaitTerminated() {
    jaxb.awaitTerminated();
  }

  @Override public void awaitTerminated(Duration d) throws TimeoutException {
    jaxb.awaitTerminated(d);
  }

  @Override public void awaitTerminated(long n, TimeUnit u) throws TimeoutException {
    jaxb.awaitTerminated(n, u);
  }

  @Override public Throwable failureCause() {
    return jaxb.failureCause();
  }

  @Override public void addListener(Listener l, Executor e) {
    jaxb.addListener(l, e);
  }
}

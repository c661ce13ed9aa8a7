package edgegauge.cxf;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import edgegauge.compact.Form;
import edgegauge.jaxws.Port;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;
import org.apache.cxf.binding.soap.SoapFault;
import org.apache.cxf.binding.soap.SoapMessage;
import org.apache.cxf.interceptor.AbstractOutDatabindingInterceptor;
import org.apache.cxf.interceptor.Fault;
import org.apache.cxf.interceptor.InterceptorProvider;
import org.apache.cxf.interceptor.StaxInInterceptor;
import org.apache.cxf.interceptor.StaxOutEndingInterceptor;
import org.apache.cxf.interceptor.StaxOutInterceptor;
import org.apache.cxf.message.Message;
import org.apache.cxf.phase.AbstractPhaseInterceptor;
import org.apache.cxf.phase.Phase;

/** CXF's hooks, interceptors at the ends of its chains: a message is received whole before it is parsed, and made in memory before it is sent. */
final class Hooks {
  private static final String PARSER = "edgegauge.parser";

  private final Setup setup;
  private final ServerLog log; // null in a client
  private final String type;
  private final Form form; // null: CXF's own text

  private Hooks(Setup setup, ServerLog log) {
    this.setup = setup;
    this.log = log;
    form = Form.compact(setup.encoding) ? Form.of(setup.encoding, setup.bodyLimit) : null;
    type = form != null ? form.media(true) : setup.encoding.equals("soap12") ? "application/soap+xml" : "text/xml";
  }

  static void install(InterceptorProvider endpoint, Setup setup, ServerLog log) {
    if (!setup.hooks) {
      if (Form.compact(setup.encoding)) throw new IllegalArgumentException("hooks: off is not for " + setup.encoding + ", which stands in the hooks; use soap12");
      return;
    }
    Hooks h = new Hooks(setup, log);
    endpoint.getInInterceptors().add(h.new Receive());
    endpoint.getInInterceptors().add(h.new Keep());
    endpoint.getInInterceptors().add(h.new Read());
    endpoint.getInFaultInterceptors().add(h.new Receive());
    endpoint.getOutInterceptors().add(h.new Write());
    endpoint.getOutInterceptors().add(h.new Send());
  }

  private boolean ours(Message m) {
    return Body.type((String) m.get(Message.CONTENT_TYPE)).equals(type);
  }

  private void check(Message m) {
    String t = String.valueOf(m.get(Message.CONTENT_TYPE));
    if (ours(m)) return;
    SoapFault f = Faults.sender("no media type \"" + t + "\" here; send " + type);
    f.setStatusCode(415);
    throw f;
  }

  @SuppressWarnings("unchecked")
  private static String header(Message m, String name) {
    Map<String, List<String>> headers = (Map<String, List<String>>) m.get(Message.PROTOCOL_HEADERS);
    if (headers == null) return null;
    for (Map.Entry<String, List<String>> h : headers.entrySet())
      if (name.equalsIgnoreCase(h.getKey())) return h.getValue().get(0).trim();
    return null;
  }

  private static long length(Message m) {
    String n = header(m, "Content-Length");
    return n == null ? -1 : Long.parseLong(n);
  }

  /** The message whole, before anything looks at it. */
  private final class Receive extends AbstractPhaseInterceptor<Message> {
    Receive() {
      super(Phase.RECEIVE);
    }

    @Override public void handleMessage(Message m) {
      InputStream in = m.getContent(InputStream.class);
      if (in == null) return;
      Exchange x = Exchange.mine();
      try {
        byte[] b = Body.read(in, length(m), setup.bodyLimit);
        if (log == null) x.done = System.nanoTime();
        else x.begin();
        x.in = b.length;
        if (log != null) check(m);
        open(m, b);
      } catch (IOException | XMLStreamException e) {
        if (log == null) throw new Fault(e);
        SoapFault f = Faults.sender(e.getMessage());
        if (e instanceof TooLarge) f.setStatusCode(413);
        throw f;
      }
    }
  }

  /** Puts the message, or the form's reader of it, in CXF's way. A compact form's faults come as text. */
  private void open(Message m, byte[] b) throws IOException, XMLStreamException {
    if (form != null && form.gzipped() && (log != null || "gzip".equalsIgnoreCase(header(m, "Content-Encoding")))) b = form.unpack(b);
    if (form != null && !form.gzipped() && ours(m)) {
      m.setContent(XMLStreamReader.class, form.reader(b)); // CXF's own parser then stands back
      return;
    }
    Doctype.refuse(b);
    m.setContent(InputStream.class, new ByteArrayInputStream(b));
  }

  /** The parser, which WS-Security puts a tree in the place of. */
  private final class Keep extends AbstractPhaseInterceptor<Message> {
    Keep() {
      super(Phase.POST_STREAM);
      addAfter(StaxInInterceptor.class.getName());
    }

    @Override public void handleMessage(Message m) {
      m.put(PARSER, m.getContent(XMLStreamReader.class));
    }
  }

  /** The end of decoding. CXF reads no further than the body; the rest must be well formed too. */
  private final class Read extends AbstractPhaseInterceptor<Message> {
    Read() {
      super(Phase.POST_UNMARSHAL);
    }

    @Override public void handleMessage(Message m) {
      XMLStreamReader r = (XMLStreamReader) m.get(PARSER);
      try {
        while (r != null && r.hasNext()) r.next();
      } catch (XMLStreamException e) {
        throw Faults.sender("message is not whole: " + e.getMessage());
      }
      Exchange x = Exchange.mine();
      x.deserialization = System.nanoTime() - (log == null ? x.done : x.begun);
    }
  }

  /** The beginning of encoding, with memory in the place of the socket. */
  private final class Write extends AbstractPhaseInterceptor<SoapMessage> {
    Write() {
      super(Phase.PRE_STREAM);
      addBefore(StaxOutInterceptor.class.getName());
    }

    @Override public void handleMessage(SoapMessage m) {
      m.put(OutputStream.class, m.getContent(OutputStream.class));
      ByteArrayOutputStream memory = new ByteArrayOutputStream(1024);
      m.setContent(OutputStream.class, memory);
      Exchange.mine().serialization = -System.nanoTime();
      if (form == null || form.gzipped()) return;
      try {
        XMLStreamWriter w = form.writer(memory);
        w.writeStartDocument();
        m.setContent(XMLStreamWriter.class, w); // CXF's own then stands back
        m.put(AbstractOutDatabindingInterceptor.DISABLE_OUTPUTSTREAM_OPTIMIZATION, true); // else JAXB writes text past it
      } catch (XMLStreamException e) {
        throw new Fault(e);
      }
    }
  }

  /** The end of encoding; the message goes to the transport. */
  private final class Send extends AbstractPhaseInterceptor<SoapMessage> {
    Send() {
      super(Phase.PRE_STREAM_ENDING);
      addAfter(StaxOutEndingInterceptor.class.getName());
    }

    @Override public void handleMessage(SoapMessage m) {
      byte[] made = finish(m);
      OutputStream out = m.get(OutputStream.class);
      Exchange x = Exchange.mine();
      long now = System.nanoTime();
      x.serialization += now;
      x.out = made.length;
      m.setContent(OutputStream.class, out);
      if (log == null) x.sent = now;
      else log.sending();
      try {
        out.write(made);
      } catch (IOException e) {
        throw new Fault(e);
      } finally {
        if (log != null) log.sent(x);
      }
    }

    @SuppressWarnings("unchecked")
    private byte[] finish(SoapMessage m) {
      ByteArrayOutputStream made = (ByteArrayOutputStream) m.getContent(OutputStream.class);
      if (form == null) return made.toByteArray();
      String action = log == null && !type.equals("application/exi") ? "; action=\"" + Port.NAMESPACE + "/" + setup.service.name + "\"" : "";
      m.put(Message.CONTENT_TYPE, type + action);
      try {
        if (form.gzipped()) {
          Map<String, List<String>> headers = (Map<String, List<String>>) m.get(Message.PROTOCOL_HEADERS);
          if (headers == null) m.put(Message.PROTOCOL_HEADERS, headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER));
          headers.put("Content-Encoding", Arrays.asList("gzip"));
          return form.pack(made.toByteArray());
        }
        m.getContent(XMLStreamWriter.class).close(); // CXF has ended the document
        return made.toByteArray();
      } catch (IOException | XMLStreamException e) {
        throw new Fault(e);
      }
    }
  }
}

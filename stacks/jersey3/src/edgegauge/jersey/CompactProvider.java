package edgegauge.jersey;

import edgegauge.compact.Form;
import edgegauge.jaxb.Bean;
import edgegauge.jaxb.Beans;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.MessageBodyReader;
import jakarta.ws.rs.ext.MessageBodyWriter;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Marshaller;
import jakarta.xml.bind.Unmarshaller;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;

/** Beans in EXI and Fast Infoset: what Jersey's JAXB provider does, with the form's reader and writer. */
final class CompactProvider implements MessageBodyReader<Bean>, MessageBodyWriter<Bean> {
  private final Form form;
  private final JAXBContext context;

  CompactProvider(Form form) {
    this.form = form;
    try {
      context = JAXBContext.newInstance(Beans.classes());
    } catch (JAXBException e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean ours(Class<?> c, MediaType t) {
    return Bean.class.isAssignableFrom(c) && (t.getType() + "/" + t.getSubtype()).equalsIgnoreCase(form.media(false));
  }

  @Override public boolean isReadable(Class<?> c, Type g, Annotation[] a, MediaType t) {
    return ours(c, t);
  }

  @Override public boolean isWriteable(Class<?> c, Type g, Annotation[] a, MediaType t) {
    return ours(c, t);
  }

  @Override public void writeTo(Bean bean, Class<?> c, Type g, Annotation[] a, MediaType t, MultivaluedMap<String, Object> h, OutputStream out) throws IOException {
    try {
      Marshaller m = context.createMarshaller();
      m.setProperty(Marshaller.JAXB_FRAGMENT, true);
      XMLStreamWriter w = form.writer(out);
      w.writeStartDocument();
      m.marshal(bean, w);
      w.writeEndDocument();
      w.close();
    } catch (JAXBException | XMLStreamException e) {
      throw new IOException(e);
    }
  }

  @Override public Bean readFrom(Class<Bean> c, Type g, Annotation[] a, MediaType t, MultivaluedMap<String, String> h, InputStream in) throws IOException {
    try {
      Unmarshaller u = context.createUnmarshaller();
      u.setEventHandler(event -> false);
      XMLStreamReader r = form.reader(in.readAllBytes());
      Object bean = u.unmarshal(r);
      while (r.hasNext()) r.next();
      if (!c.isInstance(bean)) throw new IOException("message is another service's");
      return (Bean) bean;
    } catch (JAXBException | XMLStreamException e) {
      Throwable why = e instanceof JAXBException && ((JAXBException) e).getLinkedException() != null ? ((JAXBException) e).getLinkedException() : e;
      throw new IOException(why.getMessage(), e);
    }
  }
}

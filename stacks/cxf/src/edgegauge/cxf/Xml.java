package edgegauge.cxf;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.MultivaluedMap;
import javax.xml.bind.JAXBException;
import javax.xml.bind.UnmarshalException;
import javax.xml.bind.Unmarshaller;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.apache.cxf.jaxrs.provider.JAXBElementProvider;
import org.apache.cxf.staxutils.StaxUtils;

/**
 * CXF's provider for JAXB, with CXF's parser, which refuses what CXF alone would answer: a number that is none would be taken as absent, a DTD and the
 * entities it names would be passed over, and what follows the root element would not be read.
 */
final class Xml extends JAXBElementProvider<Object> {
  private final Timing timing; // null without hooks

  Xml(Timing timing) {
    this.timing = timing;
    setValidationHandler(event -> false);
  }

  @Override public void writeTo(Object o, Class<?> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, Object> headers, OutputStream out) throws IOException {
    if (timing == null) super.writeTo(o, c, t, a, m, headers, out);
    else timing.write(o, to -> super.writeTo(o, c, t, a, m, headers, to), headers, out);
  }

  @Override public Object readFrom(Class<Object> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, String> headers, InputStream in) throws IOException {
    return timing == null ? super.readFrom(c, t, a, m, headers, in) : timing.read(from -> super.readFrom(c, t, a, m, headers, from), headers, in);
  }

  @Override protected Object unmarshalFromInputStream(Unmarshaller unmarshaller, InputStream in, Annotation[] a, MediaType mt) throws JAXBException {
    try {
      XMLStreamReader r = configureReaderRestrictions(StaxUtils.createXMLStreamReader(in));
      while (!r.isStartElement()) if (r.next() == XMLStreamConstants.DTD) throw new UnmarshalException("message has a DTD");
      Object bean = unmarshaller.unmarshal(r);
      while (r.hasNext()) r.next();
      r.close();
      return bean;
    } catch (XMLStreamException e) {
      throw new UnmarshalException(e.getMessage(), e);
    }
  }
}

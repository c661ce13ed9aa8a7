package edgegauge.cxf;

import java.io.InputStream;
import java.lang.annotation.Annotation;
import javax.ws.rs.core.MediaType;
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
  Xml() {
    setValidationHandler(event -> false);
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

package edgegauge.jersey;

import com.sun.jersey.api.client.config.DefaultClientConfig;
import com.sun.jersey.core.impl.provider.entity.XMLRootElementProvider;
import edgegauge.jaxb.Bean;
import edgegauge.jaxb.Beans;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.ext.ContextResolver;
import javax.ws.rs.ext.ExceptionMapper;
import javax.ws.rs.ext.MessageBodyReader;
import javax.ws.rs.ext.MessageBodyWriter;
import javax.ws.rs.ext.Providers;
import javax.xml.bind.JAXBContext;
import javax.xml.bind.JAXBException;
import javax.xml.bind.Unmarshaller;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.parsers.SAXParserFactory;
import org.xml.sax.SAXException;

/** Jersey's own provider for JAXB, with a parser that refuses document types and an unmarshaller that refuses what it would leave out. */
final class XmlFormat implements Format, Providers {
  private static final Annotation[] NONE = new Annotation[0];

  private final ThreadLocal<SAXParserFactory> parsers = ThreadLocal.withInitial(XmlFormat::parser);
  private final JAXBContext context = JAXBContext.newInstance(Beans.classes());
  private final XMLRootElementProvider provider = new XMLRootElementProvider.App(parsers::get, this);

  XmlFormat() throws JAXBException {
    provider.setConfiguration(new DefaultClientConfig()); // of features, of which none is set
  }

  @Override public byte[] encode(Bean bean) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(1024);
    provider.writeTo(bean, bean.getClass(), bean.getClass(), NONE, MediaType.APPLICATION_XML_TYPE, null, out);
    return out.toByteArray();
  }

  @Override @SuppressWarnings({"unchecked", "rawtypes"}) public Bean decode(Class<?> type, byte[] b) throws IOException {
    Object bean = provider.readFrom((Class) type, type, NONE, MediaType.APPLICATION_XML_TYPE, null, new ByteArrayInputStream(b));
    if (!type.isInstance(bean)) throw new IOException("message is not a " + type.getSimpleName());
    return (Bean) bean;
  }

  private static SAXParserFactory parser() {
    try {
      SAXParserFactory f = SAXParserFactory.newInstance();
      f.setNamespaceAware(true);
      f.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
      return f;
    } catch (ParserConfigurationException | SAXException e) {
      throw new IllegalStateException(e);
    }
  }

  private Unmarshaller unmarshaller() {
    try {
      Unmarshaller u = context.createUnmarshaller();
      u.setEventHandler(event -> false);
      return u;
    } catch (JAXBException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The provider asks here for its context and unmarshaller, for which it is given one of each; it asks for nothing else. */
  @Override @SuppressWarnings("unchecked") public <T> ContextResolver<T> getContextResolver(Class<T> c, MediaType m) {
    if (c == Unmarshaller.class) return type -> (T) unmarshaller();
    return c == JAXBContext.class ? type -> (T) context : null;
  }

  @Override public <T> MessageBodyReader<T> getMessageBodyReader(Class<T> c, Type t, Annotation[] a, MediaType m) {
    return null;
  }

  @Override public <T> MessageBodyWriter<T> getMessageBodyWriter(Class<T> c, Type t, Annotation[] a, MediaType m) {
    return null;
  }

  @Override public <T extends Throwable> ExceptionMapper<T> getExceptionMapper(Class<T> c) {
    return null;
  }
}

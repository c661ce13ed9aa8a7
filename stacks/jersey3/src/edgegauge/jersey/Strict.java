package edgegauge.jersey;

import com.fasterxml.jackson.databind.ObjectMapper;
import edgegauge.jackson.StrictJson;
import edgegauge.jaxb.Beans;
import jakarta.ws.rs.ext.ContextResolver;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Unmarshaller;

/** Jersey asks these for the binders its providers use: as they come, they take values for absent that they cannot read, or make them of another type's. */
final class Strict {
  private Strict() {}

  static final class Xml implements ContextResolver<Unmarshaller> {
    private final JAXBContext context;

    Xml() {
      try {
        context = JAXBContext.newInstance(Beans.classes());
      } catch (JAXBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override public Unmarshaller getContext(Class<?> type) {
      try {
        Unmarshaller u = context.createUnmarshaller();
        u.setEventHandler(event -> false);
        return u;
      } catch (JAXBException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static final class Json implements ContextResolver<ObjectMapper> {
    private final ObjectMapper mapper = StrictJson.mapper();

    @Override public ObjectMapper getContext(Class<?> type) {
      return mapper;
    }
  }
}

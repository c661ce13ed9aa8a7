package edgegauge.jersey;

import edgegauge.jaxb.Bean;
import java.io.IOException;
import java.math.BigDecimal;
import javax.ws.rs.ext.ContextResolver;
import javax.ws.rs.ext.Provider;
import org.codehaus.jackson.JsonGenerator;
import org.codehaus.jackson.JsonParseException;
import org.codehaus.jackson.JsonParser;
import org.codehaus.jackson.JsonToken;
import org.codehaus.jackson.Version;
import org.codehaus.jackson.map.DeserializationConfig;
import org.codehaus.jackson.map.JsonSerializer;
import org.codehaus.jackson.map.ObjectMapper;
import org.codehaus.jackson.map.SerializationConfig;
import org.codehaus.jackson.map.SerializerProvider;
import org.codehaus.jackson.map.module.SimpleModule;
import org.codehaus.jackson.util.JsonParserDelegate;

/** What Jersey's provider for JSON (POJO mapping, Jackson 1.8) does, and refuses what follows the object. It also gives that provider its mapper. */
@Provider
public final class JsonFormat implements Format, ContextResolver<ObjectMapper> {
  private final ObjectMapper mapper = new ObjectMapper();

  JsonFormat() {
    mapper.configure(DeserializationConfig.Feature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    mapper.configure(SerializationConfig.Feature.FAIL_ON_EMPTY_BEANS, false);
    SimpleModule plain = new SimpleModule("plain", Version.unknownVersion());
    plain.addSerializer(BigDecimal.class, new Plain());
    mapper.registerModule(plain);
  }

  /** What later versions have a setting for: BigDecimal keeps the text of toString, so that only the first of many requests would convert a decimal. */
  private static final class Plain extends JsonSerializer<BigDecimal> {
    @Override public void serialize(BigDecimal d, JsonGenerator out, SerializerProvider p) throws IOException {
      out.writeNumber(d.toPlainString());
    }
  }

  @Override public ObjectMapper getContext(Class<?> type) {
    return mapper;
  }

  @Override public byte[] encode(Bean bean) throws IOException {
    return mapper.writeValueAsBytes(bean);
  }

  @Override public Bean decode(Class<?> type, byte[] b) throws IOException {
    try (JsonParser p = new Strict(mapper.getJsonFactory().createJsonParser(b))) {
      Object bean = mapper.readValue(p, type);
      if (p.nextToken() != null) throw new IOException("something follows the object");
      return (Bean) bean;
    }
  }

  /** Jackson 1.8 takes the lower bits of a number beyond 64 bit, cuts what follows the point, makes text of numbers and booleans, and booleans of numbers. */
  private static final class Strict extends JsonParserDelegate {
    Strict(JsonParser p) {
      super(p);
    }

    @Override public long getLongValue() throws IOException {
      if (getCurrentToken() == JsonToken.VALUE_NUMBER_INT && getNumberType() != NumberType.BIG_INTEGER) return super.getLongValue();
      try {
        return getDecimalValue().longValueExact(); // to JSON Schema 5.0 is an integer
      } catch (ArithmeticException e) {
        throw new JsonParseException("not an integer of 64 bits", getCurrentLocation());
      }
    }

    /** Asked for where a boolean is wanted; the integers of the messages are longs. */
    @Override public int getIntValue() throws IOException {
      throw new JsonParseException("a boolean was expected", getCurrentLocation());
    }

    @Override public String getText() throws IOException {
      if (getCurrentToken().isScalarValue() && getCurrentToken() != JsonToken.VALUE_STRING && getCurrentToken() != JsonToken.VALUE_NULL)
        throw new JsonParseException("text was expected", getCurrentLocation());
      return super.getText();
    }
  }
}

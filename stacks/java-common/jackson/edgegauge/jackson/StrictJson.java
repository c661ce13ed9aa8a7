package edgegauge.jackson;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.std.StdScalarDeserializer;
import com.fasterxml.jackson.databind.deser.std.StringDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;

/**
 * Jackson's defaults, but for what the contract asks: no value is made of another type's, nothing follows the object, other fields pass. And decimals are
 * written plainly: BigDecimal keeps the text of toString, so that only the first request of many with the same message would convert them.
 */
public final class StrictJson {
  private StrictJson() {}

  public static JsonMapper mapper() {
    SimpleModule strict = new SimpleModule();
    strict.addDeserializer(Long.class, new Whole()).addDeserializer(String.class, new Text());
    return JsonMapper.builder().disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        .withCoercionConfig(LogicalType.Textual, c -> c.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail)
            .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail).setCoercion(CoercionInputShape.Float, CoercionAction.Fail))
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN).addModule(strict).build();
  }

  /** Half a surrogate pair is no text: UTF-8 has no bytes for it. */
  private static final class Text extends StringDeserializer {
    private static final long serialVersionUID = 1;

    @Override public String deserialize(JsonParser p, DeserializationContext context) throws IOException {
      String text = super.deserialize(p, context);
      for (int i = 0; i < text.length(); i++) {
        if (!Character.isSurrogate(text.charAt(i))) continue;
        if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1)))
          return (String) context.handleWeirdStringValue(String.class, text, "half a surrogate pair");
        i++;
      }
      return text;
    }
  }

  /** To JSON Schema 5.0 is an integer. ACCEPT_FLOAT_AS_INT would take 5.5 too. */
  private static final class Whole extends StdScalarDeserializer<Long> {
    private static final long serialVersionUID = 1;

    Whole() {
      super(Long.class);
    }

    @Override public Long deserialize(JsonParser p, DeserializationContext context) throws IOException {
      if (p.currentToken() == JsonToken.VALUE_NUMBER_INT) return p.getLongValue();
      if (p.currentToken() != JsonToken.VALUE_NUMBER_FLOAT) return (Long) context.handleUnexpectedToken(Long.class, p);
      try {
        return p.getDecimalValue().longValueExact();
      } catch (ArithmeticException e) {
        return (Long) context.handleWeirdNumberValue(Long.class, p.getNumberValue(), "not an integer");
      }
    }
  }
}

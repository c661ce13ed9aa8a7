package edgegauge.restlet;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Base64;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import org.json.JSONTokener;
import org.restlet.data.MediaType;
import org.restlet.ext.json.JsonRepresentation;
import org.restlet.representation.Representation;

/** JSON by Restlet's JSON extension, which is org.json: values are put into an object and taken out of it. */
final class JsonFormat implements Format {
  private final Service service;

  JsonFormat(Service service) {
    this.service = service;
  }

  @Override public MediaType type() {
    return MediaType.APPLICATION_JSON;
  }

  @Override public Representation request(Message m) {
    JSONObject o = new JSONObject();
    switch (service) {
      case SORT:
        o.put("n", new JSONArray(m.n));
        break;
      case CONCAT:
        o.put("s", new JSONArray(m.s));
        break;
      case SUM: {
        JSONArray x = new JSONArray();
        for (long k : m.x) x.put(Decimal.big(k));
        o.put("x", x);
        break;
      }
      case ECHO:
        o.put("text", m.text);
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        o.put("id", m.id).put("status", m.status).put("sequence", m.sequence).put("temperature", Decimal.big(m.temperature))
            .put("pressure", Decimal.big(m.pressure)).put("running", m.running).put("message", m.message);
        break;
      default:
        o.put("data", Base64.getEncoder().encodeToString(m.data));
    }
    return new JsonRepresentation(o);
  }

  @Override public Representation response(Message m) {
    JSONObject o = new JSONObject();
    switch (service) {
      case SORT:
        o.put("n", new JSONArray(m.n));
        break;
      case CONCAT:
      case ECHO:
        o.put("text", m.text);
        break;
      case SUM:
        o.put("total", Decimal.big(m.total));
        break;
      case TEMPERATURE:
        o.put("celsius", Decimal.big(m.celsius)).put("time", m.time);
        break;
      case MONITOR:
        o.put("accepted", m.accepted).put("sequence", m.sequence);
        break;
      default:
        o.put("digest", Base64.getEncoder().encodeToString(m.digest));
    }
    return new JsonRepresentation(o);
  }

  @Override public Message request(Representation r) throws IOException {
    JSONObject o = object(r);
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = ints(o.getJSONArray("n"));
        break;
      case CONCAT: {
        JSONArray s = o.getJSONArray("s");
        m.s = new String[s.length()];
        for (int i = 0; i < m.s.length; i++) m.s[i] = s.getString(i);
        break;
      }
      case SUM: {
        JSONArray x = o.getJSONArray("x");
        m.x = new long[x.length()];
        for (int i = 0; i < m.x.length; i++) m.x[i] = Decimal.hundredths(number(x.get(i)));
        break;
      }
      case ECHO:
        m.text = o.getString("text");
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        m.id = o.getString("id");
        m.status = integer(o.get("status"));
        m.sequence = integer(o.get("sequence"));
        m.temperature = Decimal.hundredths(number(o.get("temperature")));
        m.pressure = Decimal.hundredths(number(o.get("pressure")));
        m.running = bool(o.get("running"));
        m.message = o.getString("message");
        break;
      default:
        m.data = Base64.getDecoder().decode(o.getString("data"));
    }
    return m;
  }

  @Override public Message response(Representation r) throws IOException {
    JSONObject o = object(r);
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = ints(o.getJSONArray("n"));
        break;
      case CONCAT:
      case ECHO:
        m.text = o.getString("text");
        break;
      case SUM:
        m.total = Decimal.hundredths(number(o.get("total")));
        break;
      case TEMPERATURE:
        m.celsius = Decimal.hundredths(number(o.get("celsius")));
        m.time = number(o.get("time")).longValueExact();
        break;
      case MONITOR:
        m.accepted = bool(o.get("accepted"));
        m.sequence = integer(o.get("sequence"));
        break;
      default:
        m.digest = Base64.getDecoder().decode(o.getString("digest"));
    }
    return m;
  }

  /** The whole of it: org.json alone stops behind the object. */
  private static JSONObject object(Representation r) throws IOException {
    JSONTokener t = new JsonRepresentation(r).getJsonTokener();
    JSONObject o = new JSONObject(t);
    if (t.nextClean() != 0) throw t.syntaxError("something stands after the object");
    return o;
  }

  private static int[] ints(JSONArray a) {
    int[] n = new int[a.length()];
    for (int i = 0; i < n.length; i++) n[i] = integer(a.get(i));
    return n;
  }

  /** getInt would cut what is too large, and take text. */
  private static int integer(Object o) {
    return o instanceof Integer ? (Integer) o : number(o).intValueExact();
  }

  private static BigDecimal number(Object o) {
    if (o instanceof BigDecimal) return (BigDecimal) o;
    if (!(o instanceof Number)) throw new JSONException("\"" + o + "\" is no number");
    return new BigDecimal(o.toString());
  }

  private static boolean bool(Object o) {
    if (!(o instanceof Boolean)) throw new JSONException("\"" + o + "\" is no boolean");
    return (Boolean) o;
  }
}

package edgegauge.adapter;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Just enough JSON (RFC 8259) for the adapter protocol: objects become Map, arrays List, integers Long, other numbers Double. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** Reads one object. An integer from 2^63 to 2^64-1 keeps its bits in a negative Long: seeds are unsigned. */
  @SuppressWarnings("unchecked")
  static Map<String, Object> object(String line) {
    Json j = new Json(line);
    Object v = j.value(0);
    j.space();
    if (j.at < line.length() || !(v instanceof Map)) throw j.wrong("one object");
    return (Map<String, Object>) v;
  }

  private Object value(int depth) {
    if (depth > 32) throw wrong("fewer than 32 levels");
    space();
    char c = at < text.length() ? text.charAt(at) : 0;
    if (c == '{') return map(depth);
    if (c == '[') return list(depth);
    if (c == '"') return string();
    if (word("true")) return Boolean.TRUE;
    if (word("false")) return Boolean.FALSE;
    if (word("null")) return null;
    return number();
  }

  private Map<String, Object> map(int depth) {
    Map<String, Object> m = new LinkedHashMap<>();
    at++;
    if (take('}')) return m;
    do {
      space();
      String key = string();
      if (!take(':')) throw wrong("':'");
      m.put(key, value(depth + 1));
    } while (take(','));
    if (!take('}')) throw wrong("'}'");
    return m;
  }

  private List<Object> list(int depth) {
    List<Object> l = new ArrayList<>();
    at++;
    if (take(']')) return l;
    do l.add(value(depth + 1)); while (take(','));
    if (!take(']')) throw wrong("']'");
    return l;
  }

  private String string() {
    if (at >= text.length() || text.charAt(at) != '"') throw wrong("a string");
    StringBuilder b = new StringBuilder();
    for (at++; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == '"') {
        at++;
        return b.toString();
      }
      b.append(c == '\\' ? escape() : c);
    }
    throw wrong("'\"'");
  }

  private char escape() {
    if (++at >= text.length()) throw wrong("an escape");
    char c = text.charAt(at);
    if (c == 'u') {
      if (at + 4 >= text.length()) throw wrong("four hex digits");
      at += 4;
      try {
        return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
      } catch (NumberFormatException e) {
        throw wrong("four hex digits");
      }
    }
    int i = "\"\\/bfnrt".indexOf(c);
    if (i < 0) throw wrong("an escape");
    return "\"\\/\b\f\n\r\t".charAt(i);
  }

  private Object number() {
    int from = at;
    while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) at++;
    String n = text.substring(from, at);
    try {
      if (n.matches("\\d{19,20}")) return Long.parseUnsignedLong(n);
      if (n.matches("-?\\d+")) return Long.parseLong(n);
      return Double.parseDouble(n);
    } catch (NumberFormatException e) {
      throw wrong("a value");
    }
  }

  private boolean word(String w) {
    if (!text.startsWith(w, at)) return false;
    at += w.length();
    return true;
  }

  private boolean take(char c) {
    space();
    if (at >= text.length() || text.charAt(at) != c) return false;
    at++;
    return true;
  }

  private void space() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
  }

  private IllegalArgumentException wrong(String wanted) {
    return new IllegalArgumentException("line is not JSON at column " + (at + 1) + ", where " + wanted + " is expected");
  }

  /** Appends s as a JSON string. */
  static StringBuilder quote(StringBuilder b, String s) {
    b.append('"');
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c < ' ' || c == 0x7f || Character.isSurrogate(c)) b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    return b.append('"');
  }
}

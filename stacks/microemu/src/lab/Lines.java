package lab;

/** REST as the mobile study had it: raw text, each value on a line of its own. */
public final class Lines {
  private Lines() {}

  public static byte[] request(String[] values) {
    Text t = new Text();
    for (int i = 0; i < values.length; i++) {
      String s = values[i];
      for (int j = 0; j < s.length(); j++) {
        char c = s.charAt(j);
        if (c == '\\') t.add("\\\\");
        else if (c == '\n') t.add("\\n");
        else t.add(c);
      }
      t.add('\n');
    }
    return t.bytes();
  }

  /** The one value of a response. */
  public static String answer(byte[] b) {
    String s = Text.of(b, 0, b.length);
    int n = s.length() - 1;
    if (n < 0 || s.charAt(n) != '\n') throw new RuntimeException("the response is not one line");
    Text t = new Text();
    for (int i = 0; i < n; i++) {
      char c = s.charAt(i);
      if (c == '\n') throw new RuntimeException("the response has more than one line");
      if (c == '\\' && ++i < n) c = s.charAt(i) == 'n' ? '\n' : s.charAt(i);
      t.add(c);
    }
    return t.toString();
  }
}

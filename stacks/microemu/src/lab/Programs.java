package lab;

/** Programs of known length: one of arithmetic, one of strings, one that reads XML. */
public final class Programs {
  public static final int COUNT = 3;
  private static int sink;

  private Programs() {}

  public static String name(int program) {
    return program == 0 ? "arithmetic" : program == 1 ? "strings" : "xml";
  }

  public static void run(int program) {
    if (program == 0) loop(20000);
    else if (program == 1) strings(200);
    else xml(20);
  }

  /** 10 + 11 n bytecodes by javap -c: each turn compares in 3, reckons in 6, counts in 1 and jumps in 1. */
  static void loop(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s = s * 31 + i;
    sink = s;
  }

  static void strings(int n) {
    Text t = new Text();
    for (int i = 0; i < n; i++) t.add("temperature ").add(Numbers.text(i * 1.25)).add('\n');
    sink = t.length();
  }

  static void xml(int n) {
    byte[] b = Text.ascii("<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>"
        + "<sumResponse xmlns=\"urn:edgegauge:services:1\"><total>744.87</total></sumResponse></soap:Body></soap:Envelope>");
    for (int i = 0; i < n; i++) sink += Soap.answer("sum", b).length();
  }
}

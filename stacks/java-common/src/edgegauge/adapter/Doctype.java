package edgegauge.adapter;

import java.io.IOException;

/** Refuses a DTD, and with it every entity, where a framework's parser reads one and cannot be told not to. */
public final class Doctype {
  private Doctype() {}

  /** Looks at what stands before the root element. Throws if that is a DTD, or no XML in an encoding that begins as ASCII does. */
  public static void refuse(byte[] b) throws IOException {
    int i = starts(b, 0, "\u00ef\u00bb\u00bf") ? 3 : 0;
    while (true) {
      while (i < b.length && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t')) i++;
      if (starts(b, i, "<?")) i = after(b, i, "?>");
      else if (starts(b, i, "<!--")) i = after(b, i, "-->");
      else if (starts(b, i, "<!")) throw new IOException("message has a DTD");
      else if (starts(b, i, "<")) return;
      else throw new IOException("message is not XML in UTF-8");
    }
  }

  private static int after(byte[] b, int from, String end) throws IOException {
    for (int i = from; i < b.length; i++) if (starts(b, i, end)) return i + end.length();
    throw new IOException("message is cut");
  }

  private static boolean starts(byte[] b, int at, String s) {
    if (b.length - at < s.length()) return false;
    for (int i = 0; i < s.length(); i++) if ((b[at + i] & 0xff) != s.charAt(i)) return false;
    return true;
  }
}

package edgegauge.compact;

import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The golden files of the compact forms. "Golden make GOLDEN OUT" writes NAME.SIDE.ENCODING into OUT for every NAME.SIDE.xml of GOLDEN, of SOAP for the
 * messages of two values alone; "Golden check GOLDEN OUT" makes them again and compares. Either fails if one does not come back as the XML it was made of.
 * With compression the bytes are zlib's and may differ with its version: those are checked to be read as the same message.
 */
public final class Golden {
  private static final String[] FORMS = {"fastinfoset", "exi", "exi-compressed", "exi-schema", "exi-schema-compressed", "soap12-fastinfoset", "soap12-exi",
      "soap12-exi-compressed", "soap12-exi-schema", "soap12-exi-schema-compressed"};
  private static final long LIMIT = 16_000_000;

  private Golden() {}

  public static void main(String[] args) throws IOException {
    File golden = new File(args[1]), out = new File(args[2]);
    TreeMap<String, byte[]> files = new TreeMap<>();
    for (File f : golden.listFiles((dir, name) -> name.endsWith(".xml"))) make(f, files, args[0].equals("check") ? out : null);
    if (args[0].equals("make")) {
      for (String name : files.keySet()) Files.write(out.toPath().resolve(name), files.get(name));
    } else {
      TreeSet<String> there = new TreeSet<>(Arrays.asList(out.list((dir, name) -> name.contains(".re"))));
      if (!there.equals(files.keySet())) throw new IOException(out + " has not the files that it should have");
    }
    System.out.println(files.size() + " files");
  }

  /** old is the folder to compare with, or null. */
  private static void make(File xml, TreeMap<String, byte[]> files, File old) throws IOException {
    String base = xml.getName().replaceAll("\\.xml$", "");
    Service service = Service.of(base.replaceAll("[-.].*", ""));
    boolean response = base.endsWith(".response");
    byte[] canonical = Files.readAllBytes(xml.toPath());
    Message m = read(service, "xml", response, canonical);
    for (String form : FORMS) {
      if (form.startsWith("soap12") && !base.contains("-2-7.")) continue;
      Xml codec = new Xml(service, form, LIMIT);
      String name = base + "." + form;
      byte[] b = response ? codec.response(m) : codec.request(m);
      same(name, service, form, response, b, canonical);
      if (old != null) {
        Path p = Paths.get(old.getPath(), name);
        if (!form.endsWith("compressed") && !Arrays.equals(Files.readAllBytes(p), b)) throw new IOException(p + " differs");
        same(p.toString(), service, form, response, Files.readAllBytes(p), canonical);
      }
      files.put(name, b);
    }
  }

  private static void same(String name, Service service, String form, boolean response, byte[] b, byte[] canonical) throws IOException {
    Message back = read(service, form, response, b);
    Xml text = new Xml(service, "xml", LIMIT);
    if (!Arrays.equals(canonical, response ? text.response(back) : text.request(back))) throw new IOException(name + " is another message");
  }

  private static Message read(Service service, String form, boolean response, byte[] b) throws IOException {
    Xml codec = new Xml(service, form, LIMIT);
    return response ? codec.response(b) : codec.request(b);
  }
}

import com.siemens.ct.exi.core.CodingMode;
import com.siemens.ct.exi.core.EXIFactory;
import com.siemens.ct.exi.core.FidelityOptions;
import com.siemens.ct.exi.core.helpers.DefaultEXIFactory;
import com.siemens.ct.exi.grammars.GrammarFactory;
import com.siemens.ct.exi.main.api.sax.EXIResult;
import com.siemens.ct.exi.main.api.sax.SAXFactory;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import javax.xml.parsers.SAXParserFactory;
import org.xml.sax.*;
import org.xml.sax.helpers.DefaultHandler;

/**
 * EXIficient behind a line protocol, to judge other EXI codecs by: "encode NAME BASE64" answers with the EXI of that XML,
 * "decode NAME BASE64" with the XML of that EXI, NAME being an encoding of ../contract/README.md; "! why" answers what it refuses.
 * The argument is the folder with the schemas.
 */
public class Oracle {
  public static void main(String[] a) throws Exception {
    Map<String, EXIFactory> factories = new HashMap<>();
    SAXParserFactory parsers = SAXParserFactory.newInstance();
    parsers.setNamespaceAware(true);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    PrintStream out = System.out;
    for (String line; (line = in.readLine()) != null; out.flush()) {
      String[] w = line.split(" ", -1);
      try {
        EXIFactory f = factories.get(w[1]);
        if (f == null) factories.put(w[1], f = factory(w[1], a[0]));
        byte[] b = Base64.getDecoder().decode(w[2]);
        byte[] answer = w[0].equals("encode") ? encode(f, parsers, b) : decode(f, b);
        out.println(Base64.getEncoder().encodeToString(answer));
      } catch (Throwable e) {
        out.println("! " + String.valueOf(e).replaceAll("\\s+", " "));
      }
    }
  }

  static EXIFactory factory(String name, String folder) throws Exception {
    EXIFactory f = DefaultEXIFactory.newInstance();
    f.setCodingMode(name.endsWith("compressed") ? CodingMode.COMPRESSION : CodingMode.BIT_PACKED);
    if (!name.contains("schema")) return f;
    f.setFidelityOptions(FidelityOptions.createStrict());
    f.setGrammars(GrammarFactory.newInstance().createGrammars(folder + (name.startsWith("soap12") ? "/envelope12.xsd" : "/services.xsd")));
    return f;
  }

  static byte[] encode(EXIFactory f, SAXParserFactory parsers, byte[] xml) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    EXIResult r = new EXIResult(f);
    r.setOutputStream(out);
    XMLReader p = parsers.newSAXParser().getXMLReader();
    p.setContentHandler(r.getHandler());
    p.parse(new InputSource(new ByteArrayInputStream(xml)));
    return out.toByteArray();
  }

  static byte[] decode(EXIFactory f, byte[] exi) throws Exception {
    StringBuilder s = new StringBuilder();
    XMLReader p = new SAXFactory(f).createEXIReader();
    p.setContentHandler(new DefaultHandler() {
      public void startElement(String uri, String local, String qname, Attributes a) {
        s.append('<').append(local).append(" xmlns=\"").append(uri).append('"');
        for (int i = 0; i < a.getLength(); i++) s.append(" unexpected:").append(a.getLocalName(i));
        s.append('>');
      }
      public void endElement(String uri, String local, String qname) { s.append("</").append(local).append('>'); }
      public void characters(char[] c, int from, int n) {
        for (int i = from; i < from + n; i++) {
          switch (c[i]) {
            case '&': s.append("&amp;"); break;
            case '<': s.append("&lt;"); break;
            case '>': s.append("&gt;"); break;
            case '\r': s.append("&#xD;"); break;
            default: s.append(c[i]);
          }
        }
      }
    });
    p.parse(new InputSource(new ByteArrayInputStream(exi)));
    return s.toString().getBytes(StandardCharsets.UTF_8);
  }
}

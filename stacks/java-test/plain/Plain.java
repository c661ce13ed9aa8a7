import edgegauge.jaxb.Monitor;
import edgegauge.jaxb.Sum;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.util.Arrays;

/** Writes decimals as a stack's JSON does, and says after each line whether BigDecimal has kept a text. Its argument names what makes the writer. */
final class Plain {
  public static void main(String[] args) throws Exception {
    Object writer;
    Method write;
    if (args[0].equals("StrictJson")) {
      writer = Class.forName("edgegauge.jackson.StrictJson").getMethod("mapper").invoke(null);
      write = writer.getClass().getMethod("writeValueAsBytes", Object.class);
    } else {
      Constructor<?> c = Class.forName("edgegauge.jersey.JsonFormat").getDeclaredConstructor();
      c.setAccessible(true);
      writer = c.newInstance();
      write = writer.getClass().getMethod("encode", edgegauge.jaxb.Bean.class);
      write.setAccessible(true);
    }
    Sum sum = new Sum();
    sum.x = Arrays.asList(BigDecimal.valueOf(-5, 2), BigDecimal.valueOf(123450, 2), BigDecimal.valueOf(0, 2));
    System.out.println(new String((byte[]) write.invoke(writer, sum)) + kept(sum.x.get(0)) + kept(sum.x.get(1)) + kept(sum.x.get(2)));
    Monitor monitor = new Monitor();
    monitor.temperature = BigDecimal.valueOf(2150, 2);
    String said = new String((byte[]) write.invoke(writer, monitor));
    System.out.println(said.contains("\"temperature\":21.50") + kept(monitor.temperature));
  }

  private static String kept(BigDecimal d) throws Exception {
    Field text = BigDecimal.class.getDeclaredField("stringCache");
    text.setAccessible(true);
    return text.get(d) == null ? " new" : " kept";
  }
}

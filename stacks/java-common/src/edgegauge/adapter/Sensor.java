package edgegauge.adapter;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Reads the temperature where the lab says: fixed:CELSIUS, hwmon:PATH, iio:PATH, w1:ID or serial:DEVICE (../PROTOCOL.md). */
final class Sensor {
  private final String kind, what;
  private final SensorLine line;

  Sensor(String spec) {
    String s = spec.isEmpty() ? "fixed:21.5" : spec;
    int colon = s.indexOf(':');
    kind = colon < 0 ? s : s.substring(0, colon);
    what = s.substring(colon + 1);
    line = kind.equals("serial") ? new SensorLine(what) : null;
  }

  /** Hundredths of a degree Celsius. */
  long celsius() throws IOException {
    switch (kind) {
      case "fixed":
        return Decimal.hundredths(new BigDecimal(what));
      case "hwmon":
        return fromMilli(number(Files.isDirectory(Paths.get(what)) ? Paths.get(what, "temp1_input") : Paths.get(what)));
      case "iio":
        return fromMilli(iio(Paths.get(what)));
      case "w1":
        return fromMilli(w1(what.contains("/") ? Paths.get(what) : Paths.get("/sys/bus/w1/devices", what, "w1_slave")));
      case "serial":
        return line.read();
      default:
        throw new IOException("no sensor \"" + kind + "\"; this stack reads fixed:CELSIUS, hwmon:PATH, iio:PATH, w1:ID, serial:DEVICE");
    }
  }

  static long fromMilli(double milli) {
    return Math.round(milli / 10);
  }

  /** Linux, Documentation/ABI/testing/sysfs-bus-iio: millidegrees are (raw + offset) × scale, or in_temp_input as it is. */
  private static double iio(Path folder) throws IOException {
    if (Files.exists(folder.resolve("in_temp_input"))) return number(folder.resolve("in_temp_input"));
    Path offset = folder.resolve("in_temp_offset");
    return (number(folder.resolve("in_temp_raw")) + (Files.exists(offset) ? number(offset) : 0)) * number(folder.resolve("in_temp_scale"));
  }

  /** Linux, Documentation/w1/slaves/w1_therm.rst: the first line ends in YES if the check sum is right, the second in t=MILLIDEGREES. */
  private static double w1(Path file) throws IOException {
    String s = text(file);
    int t = s.indexOf("t=");
    if (!s.contains("YES") || t < 0) throw new IOException("sensor " + file + ": its check sum is wrong");
    return parse(s.substring(t + 2), file);
  }

  private static double number(Path p) throws IOException {
    return parse(text(p), p);
  }

  private static String text(Path p) throws IOException {
    try {
      return new String(Files.readAllBytes(p), StandardCharsets.US_ASCII).trim();
    } catch (IOException e) {
      throw new IOException("sensor " + p + " cannot be read: " + e, e);
    }
  }

  private static double parse(String s, Path from) throws IOException {
    try {
      return Double.parseDouble(s.trim());
    } catch (NumberFormatException e) {
      throw new IOException("sensor " + from + " gave no number: " + s, e);
    }
  }
}

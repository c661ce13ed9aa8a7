package edgegauge.adapter;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Reads the temperature: fixed:CELSIUS, or hwmon:PATH of a file in millidegrees or of its folder (temp1_input). */
final class Sensor {
  private final String spec;

  Sensor(String spec) {
    this.spec = spec.isEmpty() ? "fixed:21.5" : spec;
  }

  /** Hundredths of a degree Celsius. */
  long celsius() throws IOException {
    if (spec.startsWith("fixed:")) return Decimal.hundredths(new BigDecimal(spec.substring(6)));
    if (!spec.startsWith("hwmon:")) throw new IOException("no sensor \"" + spec + "\"; this stack reads fixed:CELSIUS, hwmon:PATH");
    Path p = Paths.get(spec.substring(6));
    if (Files.isDirectory(p)) p = p.resolve("temp1_input");
    try {
      return Math.round(Long.parseLong(new String(Files.readAllBytes(p), StandardCharsets.US_ASCII).trim()) / 10.0);
    } catch (NumberFormatException | IOException e) {
      throw new IOException("sensor " + p + " gave no millidegrees: " + e, e);
    }
  }
}

package edgegauge.compact;

import edgegauge.adapter.Service;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** "Mutations GOLDEN COUNT SEED" reads golden files of the compact forms with bits turned over and ends cut: each is taken, or refused with IOException. */
public final class Mutations {
  private Mutations() {}

  public static void main(String[] args) throws IOException {
    File[] files = new File(args[0]).listFiles((dir, name) -> name.contains(".request."));
    Arrays.sort(files);
    Random random = new Random(Long.parseLong(args[2]));
    Map<String, Xml> codecs = new HashMap<>();
    int refused = 0;
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      File f = files[random.nextInt(files.length)];
      String service = f.getName().replaceAll("-.*", ""), encoding = f.getName().replaceAll(".*\\.", "");
      Xml codec = codecs.computeIfAbsent(service + " " + encoding, k -> new Xml(Service.of(service), encoding, 200_000));
      byte[] b = mutated(Files.readAllBytes(f.toPath()), random);
      try {
        codec.request(b);
      } catch (IOException e) {
        refused++;
      } catch (RuntimeException | Error e) {
        StringBuilder hex = new StringBuilder();
        for (byte x : b) hex.append(String.format("%02x", x));
        throw new IllegalStateException(f.getName() + " as " + hex, e);
      }
    }
    System.out.println(refused + " refused");
  }

  private static byte[] mutated(byte[] b, Random random) {
    for (int k = 1 + random.nextInt(4); k > 0; k--) b[random.nextInt(b.length)] ^= (byte) (1 << random.nextInt(8));
    return random.nextInt(4) == 0 ? Arrays.copyOf(b, 1 + random.nextInt(b.length)) : b;
  }
}

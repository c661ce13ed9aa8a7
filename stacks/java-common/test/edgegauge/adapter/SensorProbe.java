package edgegauge.adapter;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Reads the sensor named by its argument once for each line of stdin, and says hundredths of a degree, or what failed. Used by sensor_test.go. */
final class SensorProbe {
  public static void main(String[] args) throws IOException {
    Sensor sensor = new Sensor(args[0]);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    while (in.readLine() != null) {
      try {
        System.out.println(sensor.celsius());
      } catch (IOException e) {
        System.out.println("fault: " + e.getMessage());
      }
    }
  }
}

using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

/// <summary>A request made from a seed, and the check of its answer (stacks/contract/README.md).</summary>
class Message {
  const string Lower = "abcdefghijklmnopqrstuvwxyz", Mixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  public int[] N;
  public string[] S;
  public decimal[] X;
  public byte[] Data;
  public string Text, Id, Note;
  public int Status, Sequence;
  public decimal Temperature, Pressure;
  public bool Running;

  ulong state;

  ulong Next() {
    unchecked {
      ulong z = state += 0x9E3779B97F4A7C15UL;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9UL;
      z = (z ^ z >> 27) * 0x94D049BB133111EBUL;
      return z ^ z >> 31;
    }
  }

  string Letters(int n, string alphabet) {
    var b = new StringBuilder(n);
    for (int i = 0; i < n; i++) b.Append(alphabet[(int)(Next() % (ulong)alphabet.Length)]);
    return b.ToString();
  }

  static decimal Hundredths(long k) { return new decimal((int)Math.Abs(k), 0, 0, k < 0, 2); }

  public Message(string service, ulong seed, int n, int letters, ulong max) {
    state = seed;
    switch (service) {
      case "sort": N = Many(n, () => (int)(Next() >> 33)); break;
      case "concat": S = Many(n, () => Letters(letters > 0 ? letters : 8 + (int)(Next() % 9), Lower)); break;
      case "sum": X = Many(n, () => Hundredths((long)(Next() % (max > 0 ? max : 100000)))); break;
      case "echo": Text = Letters(n, Mixed); break;
      case "temperature": break;
      case "monitor":
        Id = Letters(8, Lower);
        Status = (int)(Next() % 4);
        Sequence = (int)(Next() >> 33);
        Temperature = Hundredths((long)(Next() % 10000) - 2000);
        Pressure = Hundredths(90000 + (long)(Next() % 20000));
        Running = Next() % 2 == 1;
        Note = Letters(n, Mixed);
        break;
      case "io":
      case "memory":
        Data = new byte[n];
        for (int i = 0; i < n; i += 8) {
          ulong z = Next();
          for (int j = i; j < Math.Min(i + 8, n); j++, z >>= 8) Data[j] = (byte)z;
        }
        break;
      default: throw new ArgumentException("no service \"" + service + "\"");
    }
  }

  static T[] Many<T>(int n, Func<T> make) {
    var all = new T[n];
    for (int i = 0; i < n; i++) all[i] = make();
    return all;
  }

  /// <summary>The digest that io (SHA-256) or memory (the chase) must answer.</summary>
  public byte[] Digest(string service) {
    if (service == "io") using (var h = SHA256.Create()) return h.ComputeHash(Data);
    unchecked {
      ulong hash = 14695981039346656037UL, i = 0;
      for (int step = 0; step < Data.Length; step++) {
        hash = (hash ^ Data[i]) * 1099511628211UL;
        i = hash % (ulong)Data.Length;
      }
      return BitConverter.GetBytes(hash).Reverse().ToArray();
    }
  }
}

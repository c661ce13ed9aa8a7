using System;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Web.Services.Protocols;
using System.Xml.Serialization;

static class Ns {
  public const string Base = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-";
  public const string Wsse = Base + "wssecurity-secext-1.0.xsd", Wsu = Base + "wssecurity-utility-1.0.xsd";
}

/// <summary>UsernameToken with password digest, and Timestamp (OASIS UsernameToken Profile 1.0, section 3.1).</summary>
[XmlRoot("Security", Namespace = Ns.Wsse)]
public class Security : SoapHeader {
  [XmlElement(Namespace = Ns.Wsu)] public Timestamp Timestamp;
  [XmlElement(Namespace = Ns.Wsse)] public UserToken UsernameToken;

  /// <summary>A new one is needed for every request: the server takes a nonce once.</summary>
  public static Security Make(string user, string password) {
    var nonce = new byte[16];
    using (var g = RandomNumberGenerator.Create()) g.GetBytes(nonce);
    string now = Text(DateTime.UtcNow), end = Text(DateTime.UtcNow.AddSeconds(60));
    byte[] digest;
    using (var h = SHA1.Create()) digest = h.ComputeHash(nonce.Concat(Encoding.UTF8.GetBytes(now + password)).ToArray());
    return new Security {
      MustUnderstand = true,
      Timestamp = new Timestamp { Id = "Time", Created = now, Expires = end },
      UsernameToken = new UserToken {
        Username = user, Created = now,
        Password = new Typed { Type = Ns.Base + "username-token-profile-1.0#PasswordDigest", Value = Convert.ToBase64String(digest) },
        Nonce = new Typed { EncodingType = Ns.Base + "soap-message-security-1.0#Base64Binary", Value = Convert.ToBase64String(nonce) }
      }
    };
  }

  static string Text(DateTime t) { return t.ToString("yyyy-MM-ddTHH:mm:ssZ"); }
}

public class Timestamp {
  [XmlAttribute(Namespace = Ns.Wsu)] public string Id;
  [XmlElement(Namespace = Ns.Wsu)] public string Created, Expires;
}

public class UserToken {
  [XmlElement(Namespace = Ns.Wsse)] public string Username;
  [XmlElement(Namespace = Ns.Wsse)] public Typed Password, Nonce;
  [XmlElement(Namespace = Ns.Wsu)] public string Created;
}

public class Typed {
  [XmlAttribute] public string Type, EncodingType;
  [XmlText] public string Value;
}

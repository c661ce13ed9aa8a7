using System;
using System.IO;
using System.Web.Services.Protocols;

/// <summary>One request and its response as this side saw it; instants in ns of Clock, sizes of the bodies in bytes.</summary>
class Exchange {
  public long Seq, Due, Begun, Sent, Done, Connection, Serialization, Deserialization, Total, Out, In;
  public string Failure;
  [ThreadStatic] public static Exchange Mine; // of the request this thread makes
}

/// <summary>Puts a buffer between the serializer and the connection, at the framework's own hook, so that the phases hold no I/O.</summary>
class TimedExtension : SoapExtension {
  Stream wire;
  MemoryStream body;
  long began;

  public override object GetInitializer(Type service) { return null; }
  public override object GetInitializer(LogicalMethodInfo method, SoapExtensionAttribute attribute) { return null; }
  public override void Initialize(object nothing) { }
  public override Stream ChainStream(Stream s) { wire = s; return body = new MemoryStream(); }

  public override void ProcessMessage(SoapMessage m) {
    Exchange x = Exchange.Mine;
    switch (m.Stage) {
      case SoapMessageStage.BeforeSerialize:
        began = Clock.Now; // next the framework asks for a connection, and then it serializes
        break;
      case SoapMessageStage.AfterSerialize:
        x.Sent = Clock.Now;
        x.Serialization += x.Sent - began - x.Connection;
        x.Out = body.Length;
        body.WriteTo(wire);
        break;
      case SoapMessageStage.BeforeDeserialize:
        wire.CopyTo(body);
        x.In = body.Length;
        body.Position = 0;
        x.Done = Clock.Now;
        break;
      case SoapMessageStage.AfterDeserialize:
        x.Deserialization = Clock.Now - x.Done;
        break;
    }
  }
}

[AttributeUsage(AttributeTargets.Method)]
class TimedAttribute : SoapExtensionAttribute {
  public override Type ExtensionType { get { return typeof(TimedExtension); } }
  public override int Priority { get; set; }
}

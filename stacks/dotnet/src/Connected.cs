using System;
using System.IO;
using System.Net;

/// <summary>A request that notes how long the framework takes to have a connection for it: to open one, or to find a kept one.</summary>
class ConnectedRequest : WebRequest {
  readonly WebRequest inner;

  public ConnectedRequest(WebRequest r) { inner = r; }

  public override Stream GetRequestStream() {
    long asked = Clock.Now;
    try {
      return inner.GetRequestStream();
    } finally {
      Exchange.Mine.Connection = Clock.Now - asked;
    }
  }

  public override WebResponse GetResponse() { return inner.GetResponse(); }
  public override void Abort() { inner.Abort(); }

  public override Uri RequestUri { get { return inner.RequestUri; } }
  public override WebHeaderCollection Headers { get { return inner.Headers; } set { inner.Headers = value; } }
  public override string Method { get { return inner.Method; } set { inner.Method = value; } }
  public override string ContentType { get { return inner.ContentType; } set { inner.ContentType = value; } }
  public override long ContentLength { get { return inner.ContentLength; } set { inner.ContentLength = value; } }
  public override int Timeout { get { return inner.Timeout; } set { inner.Timeout = value; } }
  public override IWebProxy Proxy { get { return inner.Proxy; } set { inner.Proxy = value; } }
  public override ICredentials Credentials { get { return inner.Credentials; } set { inner.Credentials = value; } }
  public override bool UseDefaultCredentials { get { return inner.UseDefaultCredentials; } set { inner.UseDefaultCredentials = value; } }
  public override bool PreAuthenticate { get { return inner.PreAuthenticate; } set { inner.PreAuthenticate = value; } }
  public override string ConnectionGroupName { get { return inner.ConnectionGroupName; } set { inner.ConnectionGroupName = value; } }
}

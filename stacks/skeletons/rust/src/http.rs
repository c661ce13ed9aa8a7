//! HTTP/1.1, only what is needed. YOUR FRAMEWORK: its own server and client.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

pub enum Trouble {
    Ended,
    Late,
    Large,
    Wrong,
}

impl Trouble {
    pub fn why(&self) -> &'static str {
        match self {
            Trouble::Ended => "the connection ended before the response",
            Trouble::Late => "no response in time",
            Trouble::Large => "the response is too large",
            Trouble::Wrong => "the response is no HTTP",
        }
    }
}

impl From<std::io::Error> for Trouble {
    fn from(e: std::io::Error) -> Self {
        if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) { Trouble::Late } else { Trouble::Ended }
    }
}

pub struct Head {
    pub first: String,
    pub media_type: String,
    pub close: bool,
    length: Option<usize>, // announced
    chunked: bool,
}

pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>, // and not used yet from at
    at: usize,
    pub deadline: Option<Instant>,
}

impl Connection {
    pub fn new(stream: TcpStream) -> std::io::Result<Connection> {
        stream.set_nodelay(true)?; // with two writes Nagle and delayed acknowledgements cost 40 ms
        Ok(Connection { stream, read: Vec::new(), at: 0, deadline: None })
    }

    fn fill(&mut self) -> Result<(), Trouble> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Trouble::Late);
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        if self.at == self.read.len() {
            self.read.clear();
            self.at = 0;
        }
        let mut b = [0; 16384];
        let n = self.stream.read(&mut b)?;
        self.read.extend_from_slice(&b[..n]);
        if n == 0 { Err(Trouble::Ended) } else { Ok(()) }
    }

    fn line(&mut self) -> Result<String, Trouble> {
        loop {
            if let Some(n) = self.read[self.at..].windows(2).position(|w| w == b"\r\n") {
                let line = String::from_utf8_lossy(&self.read[self.at..self.at + n]).into_owned();
                self.at += n + 2;
                return Ok(line);
            }
            if self.read.len() - self.at > 65536 {
                return Err(Trouble::Wrong);
            }
            self.fill()?;
        }
    }

    pub fn head(&mut self) -> Result<Head, Trouble> {
        let mut h = Head { first: self.line()?, media_type: String::new(), close: false, length: None, chunked: false };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(h);
            }
            let (name, value) = line.split_once(':').ok_or(Trouble::Wrong)?;
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-type" => h.media_type = value.split(';').next().unwrap_or("").trim().to_string(),
                "content-length" => h.length = Some(value.parse().map_err(|_| Trouble::Wrong)?),
                "transfer-encoding" => h.chunked = value == "chunked",
                "connection" => h.close = value == "close",
                _ => {}
            }
        }
    }

    fn bytes(&mut self, n: usize, to: &mut Vec<u8>) -> Result<(), Trouble> {
        let end = to.len() + n;
        while to.len() < end {
            if self.at == self.read.len() {
                self.fill()?;
            }
            let k = (self.read.len() - self.at).min(end - to.len());
            to.extend_from_slice(&self.read[self.at..self.at + k]);
            self.at += k;
        }
        Ok(())
    }

    pub fn body(&mut self, h: &Head, limit: usize) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        if !h.chunked {
            let length = h.length.unwrap_or(0);
            if length > limit {
                return Err(Trouble::Large);
            }
            self.bytes(length, &mut body)?;
            return Ok(body);
        }
        loop {
            let size = self.line()?;
            let n = usize::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16).map_err(|_| Trouble::Wrong)?;
            if n > limit || body.len() + n > limit {
                return Err(Trouble::Large);
            }
            self.bytes(n, &mut body)?;
            if !self.line()?.is_empty() {
                return Err(Trouble::Wrong); // no trailers
            }
            if n == 0 {
                return Ok(body);
            }
        }
    }

    fn send(&mut self, head: &str, body: &[u8]) -> Result<(), Trouble> {
        let mut all = Vec::with_capacity(head.len() + body.len());
        all.extend_from_slice(head.as_bytes());
        all.extend_from_slice(body);
        Ok(self.stream.write_all(&all)?)
    }

    pub fn ask(&mut self, head: &str, body: &[u8]) -> Result<(Head, Vec<u8>), Trouble> {
        self.send(head, body)?;
        let head = self.head()?;
        let body = self.body(&head, usize::MAX / 2)?;
        Ok((head, body))
    }

    pub fn respond(&mut self, status: u16, media_type: &str, body: &[u8]) -> Result<(), Trouble> {
        let (reason, close) = if status == 200 { ("OK", "") } else { ("Refused", "Connection: close\r\n") };
        let head = format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n{close}\r\n", body.len());
        self.send(&head, body)
    }

    /// Answers with an error and ends the connection. Further input is read and dropped for a
    /// second: closing would reset the connection, and the client would never see the answer.
    pub fn refuse(&mut self, status: u16, why: &str) -> Result<(), Trouble> {
        self.respond(status, "text/plain", why.as_bytes())?;
        self.stream.shutdown(Shutdown::Write)?;
        self.deadline = Some(Instant::now() + Duration::from_secs(1));
        loop {
            self.at = self.read.len();
            self.fill()?;
        }
    }
}

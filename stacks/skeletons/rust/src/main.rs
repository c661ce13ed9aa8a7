//! A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1.
//! It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per line on
//! stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.

mod http;
mod json;

use http::{Connection, Trouble};
use json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

const VERSION: &str = "0.1"; // YOUR FRAMEWORK: its version
const JSON: &str = "application/json";

type Ns = i64; // durations in nanoseconds, on a monotonic clock

fn since(start: Instant) -> Ns {
    start.elapsed().as_nanos() as Ns
}

fn wait_until(instant: Instant) {
    while let Some(left) = instant.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) {
        std::thread::sleep(left);
    }
}

// The services and their messages (stacks/contract/README.md). Decimals are in hundredths.

#[derive(Clone, Copy, PartialEq)]
enum Service {
    Echo,
    Monitor,
}

impl Service {
    fn name(self) -> &'static str {
        if self == Service::Echo { "echo" } else { "monitor" }
    }
}

#[derive(Clone, PartialEq)]
enum Message {
    Echo { text: String },
    Monitor { id: String, status: i32, sequence: i32, temperature: i64, pressure: i64, running: bool, message: String },
    Accepted { accepted: bool, sequence: i32 },
}

/// The service's own work.
fn answer(request: &Message) -> Message {
    match request {
        Message::Monitor { sequence, .. } => Message::Accepted { accepted: true, sequence: *sequence },
        other => other.clone(),
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mut z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D049BB133111EB);
        z ^ z >> 31
    }

    fn letters(&mut self, n: usize, of: &[u8]) -> String {
        (0..n).map(|_| of[(self.next() % of.len() as u64) as usize] as char).collect()
    }
}

fn from_seed(service: Service, seed: u64, n: usize) -> Message {
    let mixed = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut r = SplitMix(seed);
    if service == Service::Echo {
        return Message::Echo { text: r.letters(n, mixed) };
    }
    Message::Monitor {
        id: r.letters(8, &mixed[26..]),
        status: (r.next() % 4) as i32,
        sequence: (r.next() >> 33) as i32,
        temperature: (r.next() % 10000) as i64 - 2000,
        pressure: 90000 + (r.next() % 20000) as i64,
        running: r.next() % 2 == 1,
        message: r.letters(n, mixed),
    }
}

// The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

fn decimal(k: i64) -> String {
    format!("{}{}.{:02}", if k < 0 { "-" } else { "" }, k.abs() / 100, k.abs() % 100)
}

fn encode(m: &Message) -> Vec<u8> {
    use json::quote;
    match m {
        Message::Echo { text } => format!("{{\"text\":{}}}", quote(text)),
        Message::Accepted { accepted, sequence } => format!("{{\"accepted\":{accepted},\"sequence\":{sequence}}}"),
        Message::Monitor { id, status, sequence, temperature, pressure, running, message } => format!(
            "{{\"id\":{},\"status\":{status},\"sequence\":{sequence},\"temperature\":{},\"pressure\":{},\"running\":{running},\"message\":{}}}",
            quote(id), decimal(*temperature), decimal(*pressure), quote(message)
        ),
    }
    .into_bytes()
}

fn decode(service: Service, response: bool, body: &[u8]) -> Result<Message, String> {
    let text = std::str::from_utf8(body).map_err(|_| "not UTF-8")?;
    let v = json::read(text)?;
    if !matches!(v, Value::Object(_)) {
        return Err("not an object".into());
    }
    Ok(match (service, response) {
        (Service::Echo, _) => Message::Echo { text: v.text("text")? },
        (_, true) => Message::Accepted { accepted: v.boolean("accepted")?, sequence: v.int32("sequence")? },
        _ => Message::Monitor {
            id: v.text("id")?,
            status: v.int32("status")?,
            sequence: v.int32("sequence")?,
            temperature: v.hundredths("temperature")?,
            pressure: v.hundredths("pressure")?,
            running: v.boolean("running")?,
            message: v.text("message")?,
        },
    })
}

// The server. YOUR FRAMEWORK: its own server instead of http.rs.

struct Record {
    deserialization: Ns,
    processing: Ns,
    serialization: Ns,
    total: Ns,
    received: usize,
    sent: usize,
}

struct Server {
    service: Service,
    limit: usize,
    delay: Duration, // slows the service, to test the lab
    records: Mutex<Vec<Record>>,
    sending: RwLock<()>, // held for reading while an answer is sent: the client may have it before it is recorded
}

impl Server {
    fn connection(&self, stream: TcpStream) {
        if let Ok(mut c) = Connection::new(stream) {
            while self.one(&mut c).is_ok() {}
        }
    }

    /// Answers one request; an error ends the connection.
    fn one(&self, c: &mut Connection) -> Result<(), Trouble> {
        let head = c.head()?;
        let mut first = head.first.split(' ');
        let (method, path) = (first.next().unwrap_or(""), first.next().unwrap_or(""));
        let wrong = if path.strip_prefix('/') != Some(self.service.name()) {
            Some(404)
        } else if method != "POST" {
            Some(405)
        } else if head.media_type != JSON {
            Some(415)
        } else {
            None
        };
        if let Some(status) = wrong {
            return c.refuse(status, "another path, method or media type than is served");
        }
        let body = match c.body(&head, self.limit) {
            Err(Trouble::Large) => return c.refuse(413, "the body is larger than the limit"),
            Err(_) => return c.refuse(400, "the body is not whole"),
            Ok(body) => body,
        };
        let begun = Instant::now(); // the request is complete
        let request = match decode(self.service, false, &body) {
            Err(why) => return c.refuse(400, &why),
            Ok(request) => request,
        };
        let decoded = Instant::now();
        wait_until(decoded + self.delay);
        let response = answer(&request);
        let answered = Instant::now();
        let out = encode(&response);
        let encoded = Instant::now();
        let _sending = self.sending.read().unwrap();
        c.respond(200, JSON, &out)?;
        self.records.lock().unwrap().push(Record {
            deserialization: (decoded - begun).as_nanos() as Ns,
            processing: (answered - decoded).as_nanos() as Ns,
            serialization: (encoded - answered).as_nanos() as Ns,
            total: since(begun),
            received: body.len(),
            sent: out.len(),
        });
        if head.close { Err(Trouble::Ended) } else { Ok(()) }
    }
}

/// A setting that is not understood is refused, not replaced.
fn nanoseconds(text: &str) -> Result<u64, String> {
    match text {
        "" => Ok(0),
        t => t.parse().map_err(|_| format!("unknown options.delay {t:?}; write nanoseconds, such as 1000000")),
    }
}

fn serve(line: &Value, service: Service) -> Result<(), String> {
    let host = line.get("host");
    let delay = line.at("options").map_or(Ok(0), |o| nanoseconds(&o.get("delay")))?;
    let listener = TcpListener::bind(address(&host, line.number("port") as u16)?) // this host only
        .map_err(|e| format!("cannot listen on {host}: {e}"))?;
    let server = Arc::new(Server {
        service,
        limit: line.at("limits").map_or(0, |l| l.number("body")).max(0) as usize,
        delay: Duration::from_nanos(delay),
        records: Mutex::default(),
        sending: RwLock::default(),
    });
    let url = format!("http://{}/{}", listener.local_addr().map_err(|e| e.to_string())?, service.name());
    let accepting = server.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = accepting.clone();
            std::thread::spawn(move || server.connection(stream));
        }
    });
    ready(&format!(",\"url\":{}", json::quote(&url)));
    while let Some(ask) = next_line("report")? {
        let taken = {
            let _all_are_there = server.sending.write().unwrap();
            std::mem::take(&mut *server.records.lock().unwrap())
        };
        let mut out = String::new();
        if !ask.flag("discard") {
            for (i, r) in taken.iter().enumerate() {
                let _ = writeln!(out, "{{\"type\":\"exchange\",\"seq\":{},\"deserialization\":{},\"processing\":{},\"serialization\":{},\
                    \"total\":{},\"in\":{},\"out\":{}}}", i + 1, r.deserialization, r.processing, r.serialization, r.total, r.received, r.sent);
            }
        }
        end(out, taken.len(), "");
    }
    Ok(())
}

// The client. YOUR FRAMEWORK: its own client instead of http.rs.

#[derive(Default)]
struct Exchange {
    due: Ns,
    sent: Option<Ns>, // since the run's start, as done
    done: Option<Ns>,
    connection: Ns,
    serialization: Ns,
    deserialization: Ns,
    total: Ns,
    out: usize,
    received: usize,
    failure: String,
}

struct Client {
    service: Service,
    to: SocketAddr,
    path: String,
    per_request: bool,
    timeout: Duration,
    request: Message,
    expected: Message,
    connection: Option<Connection>,
}

impl Client {
    /// Sends one request and fills x, or returns what went wrong.
    fn once(&mut self, x: &mut Exchange, start: Instant) -> Result<(), String> {
        let begun = Instant::now();
        let body = encode(&self.request);
        x.serialization = since(begun);
        x.out = body.len();
        let mut c = match self.connection.take() {
            Some(c) => c,
            None => {
                let opening = Instant::now();
                let stream = TcpStream::connect_timeout(&self.to, self.timeout).map_err(|e| format!("cannot connect: {e}"))?;
                let c = Connection::new(stream).map_err(|e| e.to_string())?;
                x.connection = since(opening);
                c
            }
        };
        c.deadline = Some(Instant::now() + self.timeout);
        let close = if self.per_request { "Connection: close\r\n" } else { "" };
        let head = format!("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n{close}\r\n", self.path, self.to, x.out);
        x.sent = Some(since(start));
        let (head, got) = c.ask(&head, &body).map_err(|e| e.why().to_string())?;
        x.done = Some(since(start));
        x.received = got.len();
        if !self.per_request && !head.close {
            self.connection = Some(c);
        }
        if head.first.split(' ').nth(1) != Some("200") {
            return Err(format!("{}: {}", head.first, String::from_utf8_lossy(&got[..got.len().min(100)]).trim()));
        }
        if head.media_type != JSON {
            return Err(format!("the answer is {}", head.media_type));
        }
        let decoding = Instant::now();
        let received = decode(self.service, true, &got)?;
        x.deserialization = since(decoding);
        x.total = since(begun); // to check the answer is no part of it
        if received != self.expected {
            return Err("the answer is another than was asked for".into());
        }
        Ok(())
    }

    fn run(&mut self, ask: &Value) -> Result<(), String> {
        let (requests, duration) = (ask.number("requests") as usize, ask.number("duration"));
        let rate: f64 = ask.get("rate").parse().unwrap_or(0.0);
        let pace = if rate > 0.0 { 1e9 / rate } else { ask.number("interval") as f64 };
        let arrival = ask.get("arrival");
        if ask.number("concurrency") > 1 {
            return Err("there is one connection; set concurrency to 1".into());
        }
        if !arrival.is_empty() && arrival != "constant" {
            return Err(format!("no arrival \"{arrival}\"; there is constant"));
        }
        if requests == 0 && duration == 0 {
            return Err("the run has no end; give requests or duration".into());
        }
        let (mut all, mut failures, mut count, start) = (Vec::new(), Vec::new(), 0, Instant::now());
        while requests == 0 || count < requests {
            let due = if pace > 0.0 { (count as f64 * pace) as Ns } else { since(start) };
            if duration > 0 && (due >= duration || rate == 0.0 && since(start) >= duration) {
                break; // at a rate, what is due is sent, if late
            }
            wait_until(start + Duration::from_nanos(due as u64));
            count += 1;
            let begun = Instant::now();
            let mut x = Exchange { due, ..Exchange::default() };
            if let Err(why) = self.once(&mut x, start) {
                failures.push(why.clone());
                x.failure = why;
            }
            if x.total == 0 {
                x.total = since(begun); // it failed before it was decoded
            }
            if ask.flag("record") {
                all.push(x); // printed after the last request: no output in between
            }
        }
        let mut out = String::new();
        for (i, x) in all.iter().enumerate() {
            let _ = write!(out, "{{\"type\":\"exchange\",\"seq\":{},\"due\":{}", i + 1, x.due);
            for (name, instant) in [("sent", x.sent), ("done", x.done)] {
                if let Some(t) = instant {
                    let _ = write!(out, ",\"{name}\":{t}");
                }
            }
            let _ = write!(out, ",\"connection\":{},\"serialization\":{},\"deserialization\":{},\"total\":{},\"out\":{},\"in\":{}",
                x.connection, x.serialization, x.deserialization, x.total, x.out, x.received);
            if !x.failure.is_empty() {
                let _ = write!(out, ",\"failure\":{}", json::quote(&x.failure));
            }
            out.push_str("}\n");
            if i == 0 {
                say(&std::mem::take(&mut out)); // the lab reads the run's CPU time when its first record comes
            }
        }
        let untold = failures.first().filter(|_| !ask.flag("record")); // no record tells of them
        let failed = untold.map(|why| format!(",\"failed\":{},\"first_failure\":{}", failures.len(), json::quote(why)));
        end(out, count, &failed.unwrap_or_default());
        Ok(())
    }
}

fn call(line: &Value, service: Service) -> Result<(), String> {
    let (connection, url, empty) = (line.get("connection"), line.get("url"), Value::Null);
    let message = line.at("message").unwrap_or(&empty);
    if !["keep-alive", "per-request"].contains(&connection.as_str()) {
        return Err(format!("no connection \"{connection}\"; there are keep-alive, per-request"));
    }
    if message.number("letters") != 0 || message.number("max") != 0 {
        return Err("letters and max are for concat and sum".into());
    }
    let (to, path) = url.strip_prefix("http://").and_then(|u| u.split_once('/')).ok_or(format!("not an HTTP URL: {url}"))?;
    let request = from_seed(service, message.get("seed").parse().unwrap_or(0), message.number("n") as usize);
    let mut client = Client {
        service,
        to: to.parse().map_err(|e| format!("no address {to}: {e}"))?,
        path: format!("/{path}"),
        per_request: connection == "per-request",
        timeout: Duration::from_nanos(line.number("timeout").max(1) as u64),
        expected: answer(&request),
        request,
        connection: None,
    };
    ready("");
    while let Some(ask) = next_line("run")? {
        client.run(&ask)?;
    }
    Ok(())
}

// The adapter protocol.

fn address(host: &str, port: u16) -> Result<SocketAddr, String> {
    Ok(SocketAddr::new(host.parse().map_err(|e| format!("no address {host}: {e}"))?, port))
}

/// Reads a line of a type; None is the end.
fn next_line(kind: &str) -> Result<Option<Value>, String> {
    let mut text = String::new();
    if std::io::stdin().lock().read_line(&mut text).map_err(|e| e.to_string())? == 0 {
        return Ok(None);
    }
    let line = json::read(text.trim())?;
    match line.get("type") {
        t if t == kind => Ok(Some(line)),
        t => Err(format!("no type \"{t}\" expected here; send {kind}")),
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush()); // if nobody reads, stdin ends too
}

fn ready(more: &str) {
    say(&format!("{{\"type\":\"ready\",\"version\":\"{VERSION}\",\"runtime\":\"Rust\"{more}}}\n"));
}

fn end(records: String, count: usize, more: &str) {
    say(&format!("{records}{{\"type\":\"end\",\"count\":{count}{more}}}\n"));
}

fn begin(verb: &str) -> Result<(), String> {
    let line = match next_line(verb)? {
        None => return Ok(()),
        Some(line) => line,
    };
    for (what, have) in [("protocol", "1"), ("encoding", "json"), ("security", "none"), ("transport", "http")] {
        if line.get(what) != have {
            return Err(format!("no {what} \"{}\"; there is {have}", line.get(what)));
        }
    }
    let service = match line.get("service").as_str() {
        "echo" => Service::Echo,
        "monitor" => Service::Monitor,
        other => return Err(format!("no service \"{other}\"; there are echo, monitor")),
    };
    if verb == "serve" { serve(&line, service) } else { call(&line, service) }
}

fn main() {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let status = match begin(&verb) {
        Ok(()) => 0,
        Err(why) => {
            say(&format!("{{\"type\":\"error\",\"message\":{}}}\n", json::quote(&why)));
            1
        }
    };
    std::process::exit(status); // the end of stdin ends the program, even if threads still run
}

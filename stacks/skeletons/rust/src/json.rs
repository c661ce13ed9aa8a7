//! JSON (RFC 8259), as much as the messages and the adapter protocol need.

pub enum Value {
    Null,
    Bool(bool),
    Number(String), // as written: seeds have 64 bits, and decimals are rounded by their digits
    Text(String),
    List, // no message has one
    Object(Vec<(String, Value)>),
}

pub fn quote(s: &str) -> String {
    let mut b = String::with_capacity(s.len() + 2);
    b.push('"');
    for c in s.chars() {
        match c {
            '"' => b.push_str("\\\""),
            '\\' => b.push_str("\\\\"),
            '\n' => b.push_str("\\n"),
            '\r' => b.push_str("\\r"),
            '\t' => b.push_str("\\t"),
            '\u{8}' => b.push_str("\\b"),
            '\u{c}' => b.push_str("\\f"),
            c if c < ' ' => b.push_str(&format!("\\u{:04x}", c as u32)),
            c => b.push(c),
        }
    }
    b.push('"');
    b
}

pub fn read(text: &str) -> Result<Value, String> {
    let mut r = Reader { b: text.as_bytes(), at: 0 };
    let v = r.value(0)?;
    r.space();
    if r.at < r.b.len() { Err(r.wrong("the end")) } else { Ok(v) }
}

impl Value {
    /// A field of an object; the last one of that name counts.
    pub fn at(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(fields) => fields.iter().rev().find(|f| f.0 == name).map(|f| &f.1),
            _ => None,
        }
    }

    /// A text or a number as written; empty if there is none.
    pub fn get(&self, name: &str) -> String {
        match self.at(name) {
            Some(Value::Text(s) | Value::Number(s)) => s.clone(),
            _ => String::new(),
        }
    }

    pub fn number(&self, name: &str) -> i64 {
        self.get(name).parse().unwrap_or(0)
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.at(name), Some(Value::Bool(true)))
    }

    pub fn text(&self, name: &str) -> Result<String, String> {
        match self.at(name) {
            Some(Value::Text(s)) => Ok(s.clone()),
            _ => Err(format!("no text in {name}")),
        }
    }

    pub fn boolean(&self, name: &str) -> Result<bool, String> {
        match self.at(name) {
            Some(Value::Bool(b)) => Ok(*b),
            _ => Err(format!("no boolean in {name}")),
        }
    }

    pub fn int32(&self, name: &str) -> Result<i32, String> {
        match self.at(name) {
            Some(Value::Number(n)) => scaled(n, 0, true).and_then(|k| i32::try_from(k).ok()).ok_or(format!("no int32 in {name}")),
            _ => Err(format!("no int32 in {name}")),
        }
    }

    pub fn hundredths(&self, name: &str) -> Result<i64, String> {
        match self.at(name) {
            Some(Value::Number(n)) => scaled(n, 2, false).ok_or(format!("no decimal in {name}")),
            _ => Err(format!("no decimal in {name}")),
        }
    }
}

/// The number times 10^places, rounded, halves away from zero; None if that is beyond 10^15, or inexact where it must be exact.
fn scaled(n: &str, places: i64, exact: bool) -> Option<i64> {
    let (mantissa, exponent) = n.split_once(|c| c == 'e' || c == 'E').unwrap_or((n, "0"));
    let (minus, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |m| (true, m));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX }).clamp(-1 << 40, 1 << 40);
    let point = whole.len() as i64 + exponent + places; // digits before it count
    let mut digits = whole.bytes().chain(fraction.bytes()).map(|c| i64::from(c - b'0'));
    let (mut v, mut i) = (0i64, 0);
    let mut up = 0;
    loop {
        let digit = digits.next();
        if digit.is_none() && (i >= point || v == 0) {
            break;
        }
        let d = digit.unwrap_or(0);
        if i < point {
            v = v * 10 + d;
        } else if exact && d != 0 {
            return None;
        } else if i == point && d >= 5 {
            up = 1;
        }
        if v > 1_000_000_000_000_000 {
            return None;
        }
        i += 1;
    }
    v += up;
    Some(if minus { -v } else { v })
}

struct Reader<'a> {
    b: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, wanted: &str) -> String {
        format!("not JSON: {wanted} expected at {}", self.at)
    }

    fn peek(&self) -> u8 {
        self.b.get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn take(&mut self, w: &str) -> bool {
        self.space();
        let there = self.b[self.at..].starts_with(w.as_bytes());
        if there {
            self.at += w.len();
        }
        there
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > 64 {
            return Err(self.wrong("less depth"));
        }
        self.space();
        if self.peek() == b'"' {
            return Ok(Value::Text(self.string()?));
        }
        if self.take("{") {
            let mut fields = Vec::new();
            if self.take("}") {
                return Ok(Value::Object(fields));
            }
            loop {
                self.space();
                let name = self.string()?;
                if !self.take(":") {
                    return Err(self.wrong("a colon"));
                }
                fields.push((name, self.value(depth + 1)?));
                if !self.take(",") {
                    break;
                }
            }
            return if self.take("}") { Ok(Value::Object(fields)) } else { Err(self.wrong("}")) };
        }
        if self.take("[") {
            if self.take("]") {
                return Ok(Value::List);
            }
            loop {
                self.value(depth + 1)?;
                if !self.take(",") {
                    break;
                }
            }
            return if self.take("]") { Ok(Value::List) } else { Err(self.wrong("]")) };
        }
        for (w, v) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            if self.take(w) {
                return Ok(v);
            }
        }
        self.number()
    }

    fn digits(&mut self) -> Result<usize, String> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == from { Err(self.wrong("a digit")) } else { Ok(self.at - from) }
    }

    fn number(&mut self) -> Result<Value, String> {
        let from = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        let zero = self.peek() == b'0';
        if self.digits()? > 1 && zero {
            return Err(self.wrong("no leading zero"));
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Value::Number(String::from_utf8_lossy(&self.b[from..self.at]).into_owned()))
    }

    fn string(&mut self) -> Result<String, String> {
        if self.peek() != b'"' {
            return Err(self.wrong("a string"));
        }
        self.at += 1;
        let mut s = Vec::new();
        loop {
            let from = self.at;
            while self.at < self.b.len() && self.b[self.at] >= b' ' && !matches!(self.b[self.at], b'"' | b'\\') {
                self.at += 1;
            }
            s.extend_from_slice(&self.b[from..self.at]);
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return String::from_utf8(s).map_err(|_| self.wrong("UTF-8"));
                }
                b'\\' => {
                    self.at += 1;
                    let c = self.escape()?;
                    s.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return Err(self.wrong("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.peek();
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => c as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut rune = self.hex()?;
                if (0xd800..0xdc00).contains(&rune) && self.b[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    rune = if (0xdc00..0xe000).contains(&low) { 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00) } else { rune };
                }
                char::from_u32(rune).ok_or_else(|| self.wrong("the other half of a surrogate pair"))?
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let four = self.b.get(self.at..self.at + 4).ok_or_else(|| self.wrong("four hex digits"))?;
        let mut v = 0;
        for c in four {
            v = v << 4 | (*c as char).to_digit(16).ok_or_else(|| self.wrong("four hex digits"))?;
        }
        self.at += 4;
        Ok(v)
    }
}

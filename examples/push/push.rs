//! Tells Sidetone's agent whether the headset itself has muted its microphone.
//! Linux: rustc push.rs     Usage: push PRODUCT true|false

use std::env;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::exit;
use std::time::Duration;

const VENDOR: &str = "acme"; // vendor.id in your catalogue

/// Sends a request to the agent and returns the whole answer.
fn ask(request: &str) -> Result<String, String> {
    let folder = env::var_os("XDG_RUNTIME_DIR").unwrap_or_default();
    let address = Path::new(&folder).join("sidetone").join(VENDOR).join("agent.sock");
    let mut agent = UnixStream::connect(&address)
        .map_err(|e| format!("no agent runs (start it with 'sidetone run'): {}: {e}", address.display()))?;

    let limit = Some(Duration::from_secs(10));
    let mut answer = String::new(); // HTTP/1.0: it ends where the connection does
    agent
        .set_read_timeout(limit)
        .and_then(|_| agent.set_write_timeout(limit))
        .and_then(|_| agent.write_all(request.as_bytes()))
        .and_then(|_| agent.read_to_string(&mut answer))
        .map_err(|e| format!("no answer of {}: {e}", address.display()))?;
    Ok(answer)
}

/// Returns the agent's answer; what it refuses is an error.
fn push(product: &str, muted: bool) -> Result<String, String> {
    // A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
    let body = format!(r#"{{"owner": "acme-suite", "ttl_ms": 60000, "state": {{"hardware_mute": {muted}}}}}"#);
    let answer = ask(&format!(
        "PUT /v1/states/{product} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))?;
    match answer.split_once("\r\n\r\n") {
        Some((head, text)) if head.split(' ').nth(1) == Some("200") => Ok(text.to_string()),
        Some((_, text)) => Err(format!("the agent refuses: {text}")),
        None => Err("the agent refuses: no answer".to_string()),
    }
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [product, "true"] => push(product, true),
        [product, "false"] => push(product, false),
        _ => Err("usage: push PRODUCT true|false".to_string()),
    };
    match result {
        Ok(text) => println!("{text}"),
        Err(e) => {
            eprintln!("push: {e}");
            exit(1)
        }
    }
}

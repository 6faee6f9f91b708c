//! The servers that the files are read from: nginx, and a proxy that delays its answers. Each is a process of its own, so that its
//! time is not counted as the loader's.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// A server that ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx' first process ends the others when it is asked to end, not when it is killed.
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Starts nginx for the files in `folder`.
pub(crate) fn nginx(folder: &Path, own: &Path) -> Server {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // A server that root starts would read files as another user.
    let user =
        if Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n") { "user root;" } else { "" };
    let own = own.display();
    let kept: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("{kind}_temp_path {own}/{kind};"))
        .collect();
    let configuration = format!(
        "{user} worker_processes 1; daemon off; pid {own}/nginx.pid; error_log stderr crit; events {{}}
        http {{ access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000; types {{}} {kept}
        server {{ listen 127.0.0.1:{port}; root {}; }} }}",
        folder.display()
    );
    let path = Path::new(&own.to_string()).join("nginx.conf");
    fs::write(&path, configuration).unwrap();
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
    let mut command = Command::new(program.unwrap_or("nginx"));
    command.args(["-p", &own.to_string(), "-c"]).arg(&path).stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.spawn().expect("nginx is installed");
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(10), "nginx does not answer");
        sleep(Duration::from_millis(20));
    }
    Server { child, address: format!("http://127.0.0.1:{port}") }
}

/// Starts this program again as a proxy that delays the beginning of each answer.
pub(crate) fn delayed(server: &Server, delay: Duration) -> Server {
    let target = server.address.trim_start_matches("http://");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--proxy", target, "--delay-ms", &delay.as_millis().to_string()]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Server { child, address: format!("http://127.0.0.1:{}", line.trim()) }
}

/// Is the proxy: prints its port, and serves until it is ended. Many requests may be under way, each on a connection of
/// its own; an answer is delayed once, whatever its length, as by a far server with a wide line.
pub(crate) fn run_proxy(target: &str, delay: Duration) -> ! {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    loop {
        let Ok((client, _)) = listener.accept() else { continue };
        let Ok(server) = TcpStream::connect(target) else { continue };
        let (client_in, server_in) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        for stream in [&client, &server] {
            let _ = stream.set_nodelay(true);
        }
        // The number of requests that were passed on, and of answers whose beginning was.
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            pass(client_in, server, || {
                counted.fetch_add(1, Relaxed);
            })
        });
        let mut answered = 0;
        thread::spawn(move || {
            pass(server_in, client, || {
                let asked = asked.load(Relaxed);
                if asked != answered {
                    answered = asked;
                    sleep(delay);
                }
            });
        });
    }
}

/// Passes bytes on until the stream ends. A client waits for an answer before it asks again, and a request is one
/// packet, so that each read from a client is a request.
fn pass(mut from: TcpStream, mut to: TcpStream, mut before: impl FnMut()) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0 {
            break;
        }
        before();
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

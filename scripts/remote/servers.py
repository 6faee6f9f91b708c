"""Runs a command with servers beside it: moto as S3, and nginx for http and https with a certificate that it made itself.

    python servers.py COMMAND [ARGUMENT...]

Run it with the Python of an environment that has moto[server]. The command finds in its environment:

GPUFEED_TEST_S3            http://127.0.0.1:PORT of moto, which accepts any credentials
GPUFEED_TEST_HTTP          http://127.0.0.1:PORT of nginx
GPUFEED_TEST_HTTPS         https://localhost:PORT of nginx
GPUFEED_TEST_WEB_ROOT      the folder that nginx shows; the command may write to it
GPUFEED_TEST_CERTIFICATES  a file with the certificate (PEM) that signed nginx's

Its exit status is the command's. The servers have ports that the system chooses, on the loopback interface alone, and end with it.
"""

import datetime
import ipaddress
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# Seconds until a server answers; moto takes several where the machine is busy.
PATIENCE = 60


def free_ports(count):
    """Returns ports that nobody listens on. All are bound at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    for bound in sockets:
        bound.bind(("127.0.0.1", 0))
    ports = [bound.getsockname()[1] for bound in sockets]
    for bound in sockets:
        bound.close()
    return ports


def wait_for(port, server, log):
    """Waits until something listens on the port of a server that was started."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if server.poll() is not None:
            sys.exit(f"a server ended with {server.returncode}: {log.read_text()}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing answers on port {port} after {PATIENCE} seconds: {log.read_text()}")


def certificate(name, signer=None):
    """Makes a key and a certificate: an authority without a `signer`, else localhost's, signed by it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signing = (signer[1].subject, signer[0]) if signer else (subject, key)
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
    )
    if signer:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return key, builder.sign(signing, hashes.SHA256())


def pem(key):
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, *private)


def nginx_configuration(folder, http, https):
    # A server that runs as root would read files as another user, who may not enter a temporary folder.
    user = "user root;\n" if os.getuid() == 0 else ""
    kept = "\n".join(
        f"    {kind}_temp_path {folder}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    )
    return f"""{user}worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{}}
http {{
    access_log off;
{kept}
    types {{}}
    default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{http};
        listen 127.0.0.1:{https} ssl;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        root {folder}/web;
    }}
}}
"""


def start(command, log):
    """Starts a server in a session of its own, so that what it starts can be ended with it."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log.open("w"), stderr=subprocess.STDOUT, start_new_session=True)


def stop(server):
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if nginx is None:
        sys.exit("nginx is missing")
    servers = []
    with tempfile.TemporaryDirectory(prefix="gpufeed-servers-") as name:
        folder = pathlib.Path(name)
        authority = certificate("gpufeed's tests")
        key, signed = certificate("localhost", authority)
        (folder / "web").mkdir()
        (folder / "authority.pem").write_bytes(authority[1].public_bytes(serialization.Encoding.PEM))
        (folder / "server.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (folder / "server.key").write_bytes(pem(key))
        s3, http, https = free_ports(3)
        (folder / "nginx.conf").write_text(nginx_configuration(folder, http, https))
        moto = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(s3)]
        try:
            for port, command in [(http, [nginx, "-p", name, "-c", f"{name}/nginx.conf"]), (s3, moto)]:
                log = folder / f"{port}.log"
                servers.append(start(command, log))
                wait_for(port, servers[-1], log)
            environment = {
                "GPUFEED_TEST_S3": f"http://127.0.0.1:{s3}",
                "GPUFEED_TEST_HTTP": f"http://127.0.0.1:{http}",
                "GPUFEED_TEST_HTTPS": f"https://localhost:{https}",
                "GPUFEED_TEST_WEB_ROOT": str(folder / "web"),
                "GPUFEED_TEST_CERTIFICATES": str(folder / "authority.pem"),
            }
            return subprocess.run(sys.argv[1:], env=os.environ | environment).returncode
        finally:
            for server in servers:
                stop(server)


if __name__ == "__main__":
    sys.exit(main())

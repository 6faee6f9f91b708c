"""What a process and its descendants cost, and what else the machine does. From /proc: where there is none, None."""

import os
import platform
import subprocess
import threading

LINUX = os.path.exists("/proc/self/stat")
# Seconds between two looks at the memory. The kernel walks the page tables for it, which takes milliseconds: so rarely,
# it costs a rival well under 1 %.
EVERY = 1.5
TICK = os.sysconf("SC_CLK_TCK") if LINUX else 0


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def fields(pid):
    """What /proc says after the name, which may hold spaces; the state is the first."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def tree(root):
    """The process and all its living descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = fields(name)
            if len(found) > 1:
                children.setdefault(int(found[1]), []).append(int(name))
    todo, members = [root], []
    while todo:
        members.append(todo.pop())
        todo += children.get(members[-1], [])
    return members


def cpu_seconds(root=None):
    """User and system time of the tree, of children that have ended too."""
    if not LINUX:
        return None
    return sum(sum(map(int, fields(pid)[11:15])) for pid in tree(root or os.getpid())) / TICK


def system_cpu_seconds():
    """What all processes of the machine have used."""
    if not LINUX:
        return None
    user, nice, system, _idle, _wait, irq, softirq = map(int, read("/proc/stat").split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICK


def memory(root):
    """Bytes that the tree holds, and how they were counted: `PSS` divides shared pages among those who share them;
    `RSS`, where the kernel does not tell, counts them for each."""
    proportional = resident = 0
    members = tree(root) if LINUX else []
    for pid in members:
        for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                proportional += 1024 * int(line.split()[1])
        pages = read(f"/proc/{pid}/statm").split()
        resident += int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0
    return (proportional, "PSS") if proportional else (resident, "RSS")


class Watch(threading.Thread):
    """Looks at a tree's memory until stopped and keeps the greatest."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root = root
        self.peak, self.kind = 0, None
        self.ended = threading.Event()

    def run(self):
        # So that something is known of a process that soon ends.
        wait = min(0.2, EVERY)
        while not self.ended.wait(wait):
            held, kind = memory(self.root)
            if held > self.peak:
                self.peak, self.kind = held, kind
            wait = EVERY

    def stop(self):
        self.ended.set()
        if self.ident is not None:
            self.join()


def processor():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cores():
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def machine():
    found = [
        line.split("=", 1)[1].strip('"') for line in read("/etc/os-release").splitlines() if "PRETTY_NAME=" in line
    ]
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "cpu": processor(),
        "cores": cores(),
        "memory_bytes": pages * os.sysconf("SC_PAGE_SIZE") if pages else 0,
        "os": found[0] if found else platform.platform(),
        "kernel": platform.release(),
    }


def no_nvidia_gpu():
    """Why nothing can be measured on an NVIDIA GPU; None if there is one."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        return "no NVIDIA GPU: there is no nvidia-smi"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no NVIDIA GPU: nvidia-smi: {error}"
    if listed.returncode or "GPU 0" not in listed.stdout:
        return f"no NVIDIA GPU: nvidia-smi -L: {(listed.stdout + listed.stderr).strip()}"
    return None

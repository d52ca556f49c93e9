"""The virtual machine of ci/rxe-guest: starting it, talking with it, and leaving nothing of it behind."""

import ctypes
import os
import pathlib
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from rxe_guest_image import GUEST

CONSOLE_LINES = 25  # of the guest's console, shown when something is wrong with it
PORTS = ("out", "err", "control")
LEFT_OUT = ("_", "SHLVL", "OLDPWD", "TMPDIR")  # of the environment


class GuestError(Exception):
    def __init__(self, text, status=125):
        super().__init__(text)
        self.status = status


class BootTimeout(GuestError):
    pass


def can_accelerate():
    """A guest hangs on the KVM of hosts that do not offer it in earnest."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), [])
    return ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def link_hosts(count):
    """The ends of the Ethernet cable, one a host; of a single host: none."""
    return socket.socketpair() if count == 2 else [None]


def end_with_parent(parent):
    """In the child: the kernel kills it when this runner ends, in whatever way."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Guest:
    def __init__(self, number, kernel, args, wire):
        self.number = number
        self.status = None  # of the command
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-rxe-guest-"))
        self.process = None
        self.ports = {}
        self.control = b""
        try:
            self.write_job(args)
            self.start(kernel, args, wire)
        except BaseException:
            self.end()
            raise

    def write_job(self, args):
        lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(os.environ.items())
                 if name.isidentifier() and name not in LEFT_OUT and not name.startswith("FERRY_GUEST_")]
        lines += [f"cd {shlex.quote(os.getcwd())}", f"exec {' '.join(map(shlex.quote, args.command))}"]
        (self.folder / "job").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
        (self.folder / "netem").write_text(args.netem or "", encoding="utf-8")
        (self.folder / "writable").write_text(os.path.abspath(args.writable) if args.writable else "", encoding="utf-8")

    def command(self, kernel, args, wire, ends):
        # On a busy machine the emulated timer is late when the kernel tests it, which would end the boot.
        line = ["console=ttyS0", "panic=-1", "mitigations=off", "nokaslr", "no_timer_check",
                f"ferry.setup={GUEST / 'setup'}", f"ferry.folder={self.folder}", f"ferry.host={self.number}",
                f"ferry.hosts={args.hosts}"]
        words = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", str(args.cpus), "-m", args.memory,
                 "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot",
                 "-accel", "kvm" if can_accelerate() else "tcg,thread=multi", "-kernel", str(kernel[0]),
                 "-initrd", str(kernel[1]), "-serial", f"file:{self.folder / 'console'}",
                 "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                 "-device", "virtio-serial-pci"]
        for port in PORTS:
            words += ["-chardev", f"socket,id={port},fd={ends[port].fileno()}",
                      "-device", f"virtserialport,chardev={port},name={port}"]
        if args.writable:
            words += ["-virtfs", f"local,path={os.path.abspath(args.writable)},mount_tag=writable,security_model=none,"
                      "multidevs=remap"]
            line.append("ferry.writable=1")
        if wire is not None:
            words += ["-netdev", f"socket,id=wire,fd={wire.fileno()}",
                      "-device", f"virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:73:00:0{self.number + 1}"]
        return [*words, "-append", " ".join(line)]

    def start(self, kernel, args, wire):
        ends = {}
        for port in PORTS:
            self.ports[port], ends[port] = socket.socketpair()
            self.ports[port].setblocking(False)
        words = self.command(kernel, args, wire, ends)
        inherited = [end.fileno() for end in (*ends.values(), wire) if end is not None]
        parent = os.getpid()
        try:
            with open(self.folder / "qemu", "wb") as said:
                self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                                pass_fds=inherited, start_new_session=True,
                                                preexec_fn=lambda: end_with_parent(parent))
        except FileNotFoundError:
            raise GuestError(f"{words[0]} is missing; ci/install-packages verbs installs it") from None
        finally:
            for end in (*ends.values(), wire):
                if end is not None:
                    end.close()

    def last_words(self):
        text = ""
        for name in ("qemu", "console"):
            path = self.folder / name
            if path.exists():
                text += path.read_bytes().decode(errors="replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        return "\n".join("  | " + line for line in lines[-CONSOLE_LINES:]) or "  | (nothing)"

    def name(self, args):
        return f"guest {self.number}" if args.hosts == 2 else "the guest"

    def take_control(self, data):
        """The words of the whole lines that came."""
        self.control += data
        *lines, self.control = self.control.split(b"\n")
        return [line.decode(errors="replace").split() for line in lines]

    def go(self):
        self.ports["control"].send(b"go\n")

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for port in self.ports.values():
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Output:
    """One of the streams of one guest: passed on as it comes, or in whole lines behind the guest's number."""

    def __init__(self, stream, prefix):
        self.stream = stream
        self.prefix = prefix
        self.partial = b""

    def take(self, data):
        if self.prefix:
            *lines, self.partial = (self.partial + data).split(b"\n")
            data = b"".join(self.prefix + line + b"\n" for line in lines)
        self.stream.write(data)
        self.stream.flush()

    def end(self):
        if self.partial:
            self.take(b"\n")


def converse(guests, args, start):
    """Until every command has ended: the first exit status that is not 0."""
    outputs = {}
    with selectors.DefaultSelector() as selector:
        for guest in guests:
            prefix = f"[{guest.number}] ".encode() if args.hosts == 2 else b""
            for name, stream in (("out", sys.stdout.buffer), ("err", sys.stderr.buffer)):
                outputs[guest, name] = Output(stream, prefix)
            for name in PORTS:
                selector.register(guest.ports[name], selectors.EVENT_READ, (guest, name))
        ready = set()
        due = start + args.boot_timeout
        while selector.get_map():
            events = selector.select(None if due is None else max(0, due - time.monotonic()))
            if not events and due is not None and time.monotonic() >= due:
                give_up([guest for guest in guests if guest.status is None and
                         (len(ready) == len(guests) or guest not in ready)], args, len(ready) == len(guests))
            for key, _ in events:
                guest, name = key.data
                try:
                    data = key.fileobj.recv(1 << 16)
                except ConnectionResetError:
                    data = b""
                if not data:
                    selector.unregister(key.fileobj)
                elif name != "control":
                    outputs[guest, name].take(data)
                    continue
                for words in guest.take_control(data) if name == "control" else []:
                    if words[:1] == ["ready"]:
                        ready.add(guest)
                        if args.verbose:
                            print(f"ci/rxe-guest: {guest.name(args)} is ready after {time.monotonic() - start:.1f} s",
                                  file=sys.stderr)
                    elif words[:1] == ["exit"]:
                        guest.status = int(words[1])
                    if words[:1] == ["ready"] and len(ready) == len(guests):
                        due = None if args.timeout is None else time.monotonic() + args.timeout
                        for each in guests:
                            each.go()
                if not data and name == "control" and guest.status is None:
                    raise GuestError(f"{guest.name(args)} ended before its command had; its console:\n"
                                     f"{guest.last_words()}")
    for output in outputs.values():
        output.end()
    return next((guest.status for guest in guests if guest.status), 0)


def give_up(guests, args, were_ready):
    names = " and ".join(guest.name(args) for guest in guests)
    consoles = "\n".join(f"console of {guest.name(args)}:\n{guest.last_words()}" for guest in guests)
    if were_ready:
        raise GuestError(f"the command took longer than {args.timeout:g} s in {names}; {consoles}", 124)
    raise BootTimeout(f"{names} did not boot within {args.boot_timeout:g} s; {consoles}")

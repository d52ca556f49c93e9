"""What ci/rxe-guest boots: the distribution's own kernel, and a RAM disk with the modules that the guest needs.

Both are made once and kept in build/rxe-guest/; who wants a newer kernel removes that folder. The kernel's package is
unpacked, never installed.
"""

import fcntl
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "rxe-guest"
GUEST = ROOT / "ci" / "rxe_guest"  # what runs in it
BUSYBOX = pathlib.Path("/bin/busybox")

# rdma_rxe finds its checksum by name: without these `rdma link add` fails and gives no reason.
CHECKSUMS = ["crc32_generic", "crc32c_generic", "crc32-pclmul"]
MODULES = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "veth", "virtio_net", *CHECKSUMS,
           "rdma_rxe", "rdma_ucm", "ib_uverbs", "sch_netem"]
KERNELS = ["linux-image-amd64", "linux-image-generic"]  # of Debian, of Ubuntu


class ImageError(Exception):
    status = 125


def run(*command, **options):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout
    except FileNotFoundError:
        raise ImageError(f"{command[0]} is missing, although ci/install-packages verbs has run") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise ImageError(f"`{' '.join(map(str, command))}` failed: {said[-1] if said else error.returncode}") from None


def kernel_packages():
    """The packages that hold the kernel and its modules, by the names that carry its version."""
    for name in KERNELS:
        found = depends(name)
        for package in sorted(found):
            found |= depends(package)
        if found:
            return sorted(found)
    raise ImageError(f"no kernel package: apt knows none of {' '.join(KERNELS)}; run apt-get update")


def depends(package):
    said = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"Depends: (linux-(?:image|modules|modules-extra)-\d\S*)$", said, re.MULTILINE))


def unpack(packages, folder):
    for package in packages:
        run("apt-get", "download", "-q", package, cwd=folder)
    for archive in sorted(folder.glob("*.deb")):
        run("dpkg-deb", "-x", archive, folder)
    for top in ("lib", "usr/lib"):
        for modules in (folder / top / "modules").glob("*"):
            root = folder / "usr" if top == "usr/lib" else folder
            run("depmod", "-b", root, modules.name)
            return root, modules.name
    raise ImageError(f"no kernel modules in {' '.join(packages)}")


def module_files(root, version):
    """In the order of loading, each once; what is built into the kernel has none."""
    files = []
    for module in MODULES:
        for line in run("modprobe", "-d", root, "-S", version, "-D", module).splitlines():
            if line.startswith("insmod ") and line.split()[1] not in files:
                files.append(line.split()[1])
    return files


def plain_module(path):
    """The module's bytes, unpacked where the distribution packs them."""
    if path.endswith(".xz"):
        return lzma.decompress(pathlib.Path(path).read_bytes())
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    return pathlib.Path(path).read_bytes()


def write_ram_disk(root, version, target):
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        disk = pathlib.Path(name)
        for folder in ("bin", "modules", "proc", "sys", "dev", "host", "layer"):
            (disk / folder).mkdir()
        shutil.copy(BUSYBOX, disk / "bin" / "busybox")
        shutil.copy(GUEST / "init", disk / "init")
        (disk / "init").chmod(0o755)
        for number, path in enumerate(module_files(root, version)):
            (disk / "modules" / f"{number:02}-{re.sub(r'[.]ko.*', '.ko', os.path.basename(path))}").write_bytes(
                plain_module(path))
        files = run("find", ".", cwd=disk)
        with open(target, "wb") as out:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=disk, input=files.encode(), stdout=out,
                           check=True)


def write_kernel(packed, target):
    """Unpacked here where that is possible: it takes the guest two seconds."""
    data = packed.read_bytes()
    start = data.find(b"\xfd7zXZ\0")
    try:
        data = lzma.LZMADecompressor().decompress(data[start:]) if start >= 0 else data
    except lzma.LZMAError:
        pass
    target.write_bytes(data)


def image():
    """(kernel, RAM disk), made if need be. Several may ask at one time."""
    made_from = [GUEST / "init", BUSYBOX, pathlib.Path(__file__)]
    name = hashlib.sha256(b"".join(path.read_bytes() for path in made_from)).hexdigest()[:16]
    kernel, disk = CACHE / f"{name}.kernel", CACHE / f"{name}.disk"
    if kernel.exists() and disk.exists():
        return kernel, disk
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kernel.exists() and disk.exists()):
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                folder = pathlib.Path(scratch)
                root, version = unpack(kernel_packages(), folder)
                write_ram_disk(root, version, folder / "disk")
                write_kernel(folder / "boot" / f"vmlinuz-{version}", folder / "kernel")
                for old in [*CACHE.glob("*.kernel"), *CACHE.glob("*.disk")]:
                    old.unlink()
                (folder / "disk").rename(disk)
                (folder / "kernel").rename(kernel)
    return kernel, disk

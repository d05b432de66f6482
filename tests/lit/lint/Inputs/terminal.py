"""terminal.py COLUMNS COMMAND...: runs it on a terminal of so many columns and prints what it wrote there, escapes as \\e."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
run = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
wrote = b""
while True:
    try:
        more = os.read(master, 65536)
    except OSError:  # nobody writes any more
        break
    if not more:
        break
    wrote += more
sys.stdout.write(wrote.decode().replace("\r\n", "\n").replace("\033", "\\e"))
sys.exit(run.wait())

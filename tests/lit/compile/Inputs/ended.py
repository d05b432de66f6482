"""ended.py CAMEO MODEL: compiles by ./slow and sends a signal as soon as that touches `mark`."""
import os
import pathlib
import signal
import subprocess
import sys
import time

mark, temporary = pathlib.Path("mark"), pathlib.Path("tmp")
env = dict(os.environ, TMPDIR=str(temporary.absolute()), MARK=str(mark.absolute()))
command = [sys.argv[1], "compile", sys.argv[2], "--cc", "./slow", "--cpu", "native", "-q", "-o", "net"]
for number, ignored in ((signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGHUP, True)):
    mark.unlink(missing_ok=True)
    action = signal.SIG_IGN if ignored else signal.SIG_DFL
    child = subprocess.Popen(command, env=env, preexec_fn=lambda: signal.signal(number, action))
    while not mark.exists() and child.poll() is None:
        time.sleep(0.01)
    assert list(temporary.glob("cameo.*")), "no folder was made"
    child.send_signal(number)
    status = child.wait()
    assert status == (0 if ignored else -number), (number, status)
    assert not list(temporary.glob("cameo.*")), (number, list(temporary.glob("cameo.*/*")))
    assert pathlib.Path("net").exists() == ignored, number
    assert not list(pathlib.Path().glob("net.tmp.*")), number

"""terminal.py CELLAR POOL FOLDER - `cellar shell` on a terminal: completion, errors, history, an interrupt."""
import os, pty, select, sys, time

cellar, pool, folder = sys.argv[1:4]

# libedit loses the two strings that name an added command: of a leak with its frames on the way nothing is told.
LIBEDIT = os.path.join(folder, "libedit.supp")
LEAKS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":fast_unwind_on_malloc=0",
         "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", "") + ":print_suppressions=0:suppressions=" + LIBEDIT}
with open(LIBEDIT, "w") as suppressions:
    suppressions.write("leak:libedit\n")


def end_of(fd, pid):
    """Reads until the shell has gone: a terminal that closes earlier hangs up on it before it keeps the history."""
    try:
        while os.read(fd, 4096):
            pass
    except OSError:  # Linux: the other side is closed
        pass
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def session(steps, hang_up=False):
    """Types each text and waits for what must appear; the last one ends the shell, which must succeed; or hangs up."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(LEAKS, HOME=folder, TERM="xterm")
        os.execv(cellar, [cellar, "shell", pool])
    seen = b""
    for text, wanted in steps:
        if text:
            os.write(fd, text.encode())
        end = time.monotonic() + 60
        start = len(seen)
        while wanted.encode() not in seen[start:]:
            if time.monotonic() > end or not select.select([fd], [], [], 60)[0]:
                sys.exit(f"after {text!r} wanted {wanted!r}, got {seen[start:]!r}")
            try:
                seen += os.read(fd, 4096)
            except OSError:
                sys.exit(f"after {text!r} it ended: {seen!r}")
    if hang_up:
        os.close(fd)
        os.waitpid(pid, 0)
        return
    status = end_of(fd, pid)
    if status != 0:
        sys.exit(f"the shell ended with {status}")


edits = os.environ.get("CELLAR_EDITS", "1") == "1"
session([("", "cellar> "), ("get accounts 18\n", "owner=Bob\r\ncellar> "), ("get accounts 98\n", "cellar> "),
         ("begin\n", "cellar*> "), ("abort\n", "cellar> ")] +
        ([("tab\t", "les"), ("\n", "about 1000 rows\r\ncellar> "), ("put acc\t", "ounts "), ("18 cen\t", "ts="),
          ("11\n", "\r\ncellar> "), ("get accounts 18\n", "owner=Bob\r\ncellar> "),
          ("nonsense\x03get accounts 1", "get accounts 1"),
          ("8\n", "owner=Bob\r\ncellar> "), ("scan accounts by_\t\t", "by_owner"), ("o\t\n", "rows\r\ncellar> "),
          ("\x10\n", "rows\r\ncellar> ")] +
         [("dropped\x03\n", "\ncellar> ")] * 300  # typed as soon as the prompt shows, which is before libedit edits
         if edits else []) + [("quit\n", "quit")])
if edits:  # a terminal that goes away takes no line with it
    session([("", "cellar> "), ("get accounts 18\n", "owner=Bob\r\ncellar> "), ("begin\n", "cellar*> ")], hang_up=True)
    session([("", "cellar> "), ("\x10", "begin"), ("\x10\n", "owner=Bob\r\ncellar> "), ("quit\n", "quit")])

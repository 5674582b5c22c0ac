#!/bin/sh
# PYTHON=INTERPRETER sh environment.sh FOLDER SIZE OPTIONS LIST...
#
# Has in the environment FOLDER what pip's LISTs name, which takes SIZE; quick where that is so already. FOLDER/.installed
# is written last, with the environment's Python and the sums of the lists. An environment without it was interrupted,
# and one of another Python has lost its own: both are made again. One with other sums lacks what was changed since.
set -eu

folder=$1 size=$2 options=$3
shift 3
list=$1
sums=$(cksum "$@")
rule=$(sed -n 's/^requires-python = "\([^"]*\)".*/\1/p' pyproject.toml)

# The version and the place of interpreter $1, of its base where it is an environment's; fails where `rule` forbids it.
identify() {
    "$1" -I -S -c '
import sys
here = sys.version_info[:3]
for part in sys.argv[1].split(","):
    operator = part.rstrip(".0123456789")
    there = tuple(map(int, part[len(operator):].split(".")))
    if not {">=": here >= there, "<": here < there, "!=": here != there}[operator]:
        sys.exit(1)
print("Python %d.%d in %a" % (here[:2] + (sys.base_prefix,)))' "$rule" 2> /dev/null
}

# Finds `python`: the given one, or the newest on PATH.
choose() {
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.13 python3.12 python3.11 python3; fi
    for python; do
        ! identify "$python" > /dev/null || return 0
    done
    found="is $("$python" -V 2>&1)" || found="is not there"
    echo "Conductor Studio needs Python $rule, and $python $found. Install one, with" \
        "\`uv python install 3.13\` or from the system's packages (python3.13; on Debian its python3.13-venv, too)," \
        "and name it if it is not found: make run PYTHON=python3.13" >&2
    exit 1
}

# Whether the environment was finished and has its Python still, which is the given one.
whole() {
    own=$(identify "$folder/bin/python") || return 1
    [ -z "${PYTHON:-}" ] || [ "$(identify "$PYTHON")" = "$own" ] || return 1
    case $(cat "$folder/.installed" 2> /dev/null) in "$own"*) ;; *) return 1 ;; esac
}

# Whether it was finished with these lists; others may have come after them.
complete() {
    case $(cat "$folder/.installed") in "$own
$sums"*) ;; *) return 1 ;; esac
}

# Lets one make at a time go on. What pip starts shares the lock: a pip that outlives its make writes on.
lock() {
    exec 9< "$list"
    "$1" -I -S -c '
import fcntl, sys
try:
    fcntl.flock(0, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Another make installs into %s: waiting for its end." % sys.argv[1], flush=True)
    fcntl.flock(0, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks' "$folder" <&9 2> /dev/null
}

if whole; then
    ! complete || exit 0
    lock "$folder/bin/python"
else
    choose
    lock "$python"
fi

count=$(cat "$@" | grep -c '^[A-Za-z0-9]') && count="$count packages, " || count=
if whole; then
    ! complete || exit 0
    mv "$folder/.installed" "$folder/.before"
    echo "Installing into $folder what has changed of ${count}$size."
else
    choose
    [ ! -e "$folder" ] || echo "What is in $folder was not finished, or is out of date: it is made again."
    rm -rf "$folder"
    echo "Installing into $folder: ${count}$size."
    "$python" -m venv "$folder" || {
        rm -rf "$folder"
        echo "$python cannot make environments: install its package for that (Debian: $(identify "$python" |
            sed 's/Python \([0-9.]*\).*/python\1-venv/'))." >&2
        exit 1
    }
fi

# Of pip's and uv's settings those stay that name a mirror or a way there; what installs elsewhere or in another way
# goes.
for name in $(env | sed -n -e 's/^\(PIP_[A-Z_]*\)=.*/\1/p' -e 's/^\(UV_[A-Z_]*\)=.*/\1/p'); do
    case $name in
        PIP_*INDEX* | PIP_FIND_LINKS | PIP_*CERT | PIP_TRUSTED_HOST | PIP_PROXY | PIP_*TIMEOUT | PIP_RETRIES) ;;
        PIP_*CACHE_DIR | PIP_CONFIG_FILE | PIP_KEYRING_PROVIDER | PIP_DISABLE_PIP_VERSION_CHECK) ;;
        UV_*INDEX* | UV_FIND_LINKS | UV_*TLS | UV_*CERTS | UV_INSECURE_HOST | UV_HTTP_* | UV_OFFLINE) ;;
        UV_CACHE_DIR | UV_CONFIG_FILE | UV_KEYRING_PROVIDER | UV_LINK_MODE) ;;
        *) unset "$name" ;;
    esac
done
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

for each; do
    set -- "$@" -r "$each"
    shift
done
log=$folder/install.log

# Installs by uv, in a tenth of pip's time, what has hashes: by the uv on PATH, else by one that pip installs first.
# uv reads none of pip's settings, so it is given them.
by_uv() {
    case $options in *--require-hashes*) ;; *) return 1 ;; esac
    uv=$(command -v uv) || uv=$folder/bin/uv
    [ -x "$uv" ] || "$folder/bin/python" -m pip install --quiet --retries 0 --no-deps --require-hashes \
        -r requirements-uv.lock > /dev/null 2>&1 || {
        echo "uv could not be installed: pip installs all, which takes some minutes."
        return 1
    }
    "$folder/bin/python" -c '
import ast, os, subprocess, sys
lines = subprocess.run([sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, text=True).stdout
pip = {}
for section in ("global.", "install.", ":env:."):
    for name, _, value in (line.partition("=") for line in lines.splitlines()):
        if name.startswith(section):
            pip[name[len(section):]] = " ".join(ast.literal_eval(value).split())
names = {"index-url": "UV_INDEX_URL", "extra-index-url": "UV_EXTRA_INDEX_URL", "find-links": "UV_FIND_LINKS",
         "trusted-host": "UV_INSECURE_HOST", "cert": "SSL_CERT_FILE", "client-cert": "SSL_CLIENT_CERT",
         "proxy": "ALL_PROXY"}
for name in names.keys() & pip.keys():
    os.environ.setdefault(names[name], pip[name].replace(" ", ",") if name == "find-links" else pip[name])
# With hashes it does not matter which of several indexes a file is from.
more = ["--index-strategy", "unsafe-best-match"]
if pip.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"):
    more.append("--no-index")
os.execv(sys.argv[1], sys.argv[1:] + more)' \
        "$uv" pip install --quiet --python "$folder/bin/python" $options "$@" > "$log" 2>&1 || {
        echo "uv could not install this: $(sed -n '1s/^[^A-Za-z]*//p' "$log") - pip does it, which takes some minutes."
        return 1
    }
}

by_uv "$@" || "$folder/bin/python" -m pip install --no-compile $options "$@" > "$log" || {
    # As long as nothing was installed, what was there before is still whole.
    [ ! -e "$folder/.before" ] || grep -q '^Installing collected' "$log" || mv "$folder/.before" "$folder/.installed"
    echo "$folder is not finished: pip could not install what it needs, for the reason above. Is there a network" \
        "(HTTPS_PROXY, PIP_INDEX_URL for a mirror), and room on the disk? It takes $size." >&2
    exit 1
}
# Writes the bytecode of what commands load: where the caller forbids it, as in many containers, each call would compile
# all of that. Not by the command itself, whose files are its user's alone.
[ "$folder" != .venv ] || "$folder/bin/python" -c 'import conductor.__main__
from studio.cli.line import main
main(["run", "--no-store", "--pool", "built-in", "1 + 1"])' > /dev/null 2>&1 || true
own=$(identify "$folder/bin/python")
printf '%s\n%s\n' "$own" "$sums" > "$folder/.installed"

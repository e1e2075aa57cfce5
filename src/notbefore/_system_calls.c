/* The data plane's system calls, as system_calls.py wants them.
 *
 * Rule 1: what never waits keeps Python's lock: to let it go and take it again costs more than most of these calls.
 * Rule 2: an open connection is a number and nothing else; it is closed once, and who drops it open is told.
 * Rule 3: errors are Python's own: OSError by errno, so BlockingIOError for what cannot be had now.
 * Not here: anything about HTTP, VMs or who may ask. Python's stable ABI alone: one build serves every Python from 3.11 on.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX_BYTES 16384
#define EVENTS_MAX 128
#define MS_PER_S 1000.0

typedef struct {
    PyObject_HEAD
    int number;
} Opened;

static PyTypeObject *opened_type;

static int has_words(const char *name, Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", name, wanted, given);
    return 0;
}

/* As C has it; -1 with an error set where it is none. */
static int int_of(PyObject *word) {
    long value = PyLong_AsLong(word);
    if (value == -1 && PyErr_Occurred())
        return -1;
    if (value < INT_MIN || value > INT_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the number is too large");
        return -1;
    }
    return (int)value;
}

/* -- a connection -- */

static PyObject *opened_of(int number) {
    Opened *self = PyObject_New(Opened, opened_type);
    if (self != NULL)
        self->number = number;
    return (PyObject *)self;
}

static PyObject *opened_new(PyTypeObject *type, PyObject *words, PyObject *named) {
    static char *names[] = {"number", NULL};
    int number;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(words, named, "i:Opened", names, &number))
        return NULL;
    return opened_of(number);
}

static void opened_dealloc(PyObject *self) {
    int number = ((Opened *)self)->number;
    PyTypeObject *type = Py_TYPE(self);
    if (number >= 0) {
        PyObject *kind, *error, *trace;
        PyErr_Fetch(&kind, &error, &trace);
        if (PyErr_ResourceWarning(NULL, 1, "unclosed connection %d", number) < 0)
            PyErr_WriteUnraisable(NULL);
        PyErr_Restore(kind, error, trace);
        close(number);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *opened_recv(PyObject *self, PyObject *const *words, Py_ssize_t given) {
    char room[READ_MAX_BYTES];
    Py_ssize_t wanted, got;
    int flags;
    if (!has_words("recv", given, 2))
        return NULL;
    wanted = PyLong_AsSsize_t(words[0]);
    if (wanted < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "recv() cannot read less than nothing");
        return NULL;
    }
    flags = int_of(words[1]);
    if (flags == -1 && PyErr_Occurred())
        return NULL;
    if (wanted > READ_MAX_BYTES)
        wanted = READ_MAX_BYTES;
    got = recv(((Opened *)self)->number, room, (size_t)wanted, flags | MSG_DONTWAIT);
    return got < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyBytes_FromStringAndSize(room, got);
}

static PyObject *opened_send(PyObject *self, PyObject *const *words, Py_ssize_t given) {
    Py_buffer whole;
    Py_ssize_t sent;
    int flags;
    if (!has_words("send", given, 2))
        return NULL;
    flags = int_of(words[1]);
    if (flags == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(words[0], &whole, PyBUF_SIMPLE) < 0)
        return NULL;
    sent = send(((Opened *)self)->number, whole.buf, (size_t)whole.len, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        PyErr_SetFromErrno(PyExc_OSError);
    PyBuffer_Release(&whole);
    return sent < 0 ? NULL : PyLong_FromSsize_t(sent);
}

static PyObject *opened_shutdown(PyObject *self, PyObject *word) {
    int how = int_of(word);
    if (how == -1 && PyErr_Occurred())
        return NULL;
    if (shutdown(((Opened *)self)->number, how) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *opened_fileno(PyObject *self, PyObject *none) {
    (void)none;
    return PyLong_FromLong(((Opened *)self)->number);
}

/* Once; what the kernel says then is nobody's business, as with Python's own of a connection that was reset. */
static PyObject *opened_close(PyObject *self, PyObject *none) {
    int number = ((Opened *)self)->number;
    (void)none;
    ((Opened *)self)->number = -1;
    if (number >= 0)
        close(number);
    Py_RETURN_NONE;
}

static PyMethodDef opened_methods[] = {
    {"recv", (PyCFunction)(void (*)(void))opened_recv, METH_FASTCALL, "recv(max_bytes, flags): what is there."},
    {"send", (PyCFunction)(void (*)(void))opened_send, METH_FASTCALL, "send(data, flags): how much of it went out."},
    {"shutdown", opened_shutdown, METH_O, "shutdown(how)"},
    {"fileno", opened_fileno, METH_NOARGS, "The number; -1 when it is closed."},
    {"close", opened_close, METH_NOARGS, "Once; again is nothing."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot opened_slots[] = {
    {Py_tp_doc, "Opened(number): a connection, which is closed with it."},
    {Py_tp_new, opened_new},
    {Py_tp_dealloc, opened_dealloc},
    {Py_tp_methods, opened_methods},
    {0, NULL},
};

static PyType_Spec opened_spec = {
    "notbefore._system_calls.Opened", sizeof(Opened), 0, Py_TPFLAGS_DEFAULT, opened_slots,
};

/* -- who comes -- */

/* As inet_ntop would write it, which takes as long as a tenth of all that is done for a connection in user space. */
static PyObject *text_of_v4(struct in_addr address) {
    const unsigned char *bytes = (const unsigned char *)&address;
    char text[INET_ADDRSTRLEN], *end = text;
    for (int place = 0; place < 4; place++) {
        unsigned value = bytes[place];
        if (place > 0)
            *end++ = '.';
        if (value >= 100)
            *end++ = (char)('0' + value / 100);
        if (value >= 10)
            *end++ = (char)('0' + value / 10 % 10);
        *end++ = (char)('0' + value % 10);
    }
    return PyUnicode_DecodeASCII(text, end - text, NULL);
}

/* As Python's sockets tell it: (host, port), and for IPv6 (host, port, flow, scope). */
static PyObject *name_of(const struct sockaddr_storage *peer) {
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
        return Py_BuildValue("Ni", text_of_v4(v4->sin_addr), (int)ntohs(v4->sin_port));
    }
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
        char text[INET6_ADDRSTRLEN];
        if (inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) == NULL)
            return PyErr_SetFromErrno(PyExc_OSError);
        return Py_BuildValue(
            "siII", text, (int)ntohs(v6->sin6_port), (unsigned)ntohl(v6->sin6_flowinfo), (unsigned)v6->sin6_scope_id);
    }
    errno = EAFNOSUPPORT;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* `bound` is the listening socket's number. */
static PyObject *system_accept(PyObject *bound, PyObject *none) {
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    PyObject *name, *opened;
    int number = accept4((int)PyLong_AsLong(bound), (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
    (void)none;
    if (number < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    name = name_of(&peer);
    opened = name == NULL ? NULL : opened_of(number);
    if (opened == NULL) {
        Py_XDECREF(name);
        close(number);
        return NULL;
    }
    return Py_BuildValue("NiN", opened, number, name);
}

/* -- who is ready -- */

static int whole_ms(double wait_s) {
    double ms = ceil(wait_s * MS_PER_S);
    return wait_s < 0 ? -1 : ms < INT_MAX ? (int)ms : INT_MAX;
}

static PyObject *pair_of(long number, unsigned long events) {
    PyObject *pair = PyTuple_New(2), *first = PyLong_FromLong(number), *second = PyLong_FromUnsignedLong(events);
    if (pair == NULL || first == NULL || second == NULL) {
        Py_XDECREF(pair);
        Py_XDECREF(first);
        Py_XDECREF(second);
        return NULL;
    }
    PyTuple_SetItem(pair, 0, first);
    PyTuple_SetItem(pair, 1, second);
    return pair;
}

static PyObject *listed(const struct epoll_event *events, int count) {
    PyObject *found = PyList_New(count);
    for (int place = 0; found != NULL && place < count; place++) {
        PyObject *pair = pair_of(events[place].data.fd, events[place].events);
        if (pair == NULL)
            Py_CLEAR(found);
        else
            PyList_SetItem(found, place, pair);
    }
    return found;
}

/* `set` is the number of an epoll set. */
static PyObject *system_wait(PyObject *set, PyObject *word) {
    struct epoll_event events[EVENTS_MAX];
    int number = (int)PyLong_AsLong(set), count, ms;
    double wait_s = PyFloat_AsDouble(word);
    if (wait_s == -1.0 && PyErr_Occurred())
        return NULL;
    if (isnan(wait_s)) {
        PyErr_SetString(PyExc_ValueError, "to wait takes a time");
        return NULL;
    }
    ms = whole_ms(wait_s);
    if (ms == 0) {
        count = epoll_wait(number, events, EVENTS_MAX, 0);
    } else {
        Py_BEGIN_ALLOW_THREADS
        count = epoll_wait(number, events, EVENTS_MAX, ms);
        Py_END_ALLOW_THREADS
    }
    if (count >= 0)
        return listed(events, count);
    if (errno != EINTR)
        return PyErr_SetFromErrno(PyExc_OSError);
    /* A signal: its handler runs now, and whoever waits sees what it did. */
    return PyErr_CheckSignals() < 0 ? NULL : PyList_New(0);
}

/* -- functions that know the number they are about -- */

static PyMethodDef accept_of_one = {"accept", system_accept, METH_NOARGS, "() -> (connection, its number, name)"};
static PyMethodDef wait_of_one = {"wait", system_wait, METH_O, "(wait_s) -> [(number, events)]"};

static PyObject *about(PyMethodDef *call, PyObject *word) {
    PyObject *number, *made;
    int value = int_of(word);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    number = PyLong_FromLong(value);
    made = number == NULL ? NULL : PyCFunction_NewEx(call, number, NULL);
    Py_XDECREF(number);
    return made;
}

static PyObject *accepts_at(PyObject *module, PyObject *listening) {
    (void)module;
    return about(&accept_of_one, listening);
}

static PyObject *waits_at(PyObject *module, PyObject *set) {
    (void)module;
    return about(&wait_of_one, set);
}

static PyMethodDef methods[] = {
    {"accepts_at", accepts_at, METH_O, "accepts_at(listening): what lets the next connection in."},
    {"waits_at", waits_at, METH_O, "waits_at(epoll_set): what waits there."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_of = {
    PyModuleDef_HEAD_INIT, "notbefore._system_calls", "The data plane's system calls, compiled.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__system_calls(void) {
    PyObject *module = PyModule_Create(&module_of);
    if (module == NULL)
        return NULL;
    opened_type = (PyTypeObject *)PyType_FromSpec(&opened_spec);
    if (opened_type == NULL || PyModule_AddType(module, opened_type) < 0) {
        Py_CLEAR(opened_type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
